"""Pure functions from a source's records to manifests, one module per source family."""
