"""The commands: options in, a use-case called, its result rendered, the exit code out."""
