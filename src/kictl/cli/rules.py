"""`kictl rules`: what `kictl verify` checks."""

from __future__ import annotations

from typing import Annotated

import typer

from kictl.cli.options import JSON, command_app, write_json, write_text

app = command_app()


@app.command()
def rules(
    rule: Annotated[str | None, typer.Argument(metavar="[RULE]", help="A rule or group; none lists them all.")] = None,
    *,
    as_json: JSON = False,
) -> None:
    """List the rules of verification, or explain some.

    Example: kictl rules arithmetic/latency
    """
    from kictl.render import rules as render
    from kictl.verify import chosen, in_order

    wanted = chosen([rule] if rule else [])
    found = [known for known in in_order() if known.id in wanted]
    if as_json:
        write_json([render.as_json(known) for known in found])
    elif rule:
        write_text(render.explained(found))
    else:
        write_text(render.listed(found))
