"""`kictl find`: the best results for an operation, data type, GPU and shape."""

from __future__ import annotations

from typing import Annotated

import typer

from kictl.cli.options import CATALOGUE, FORMAT, JSON, Format, catalogue_path, command_app, write_as

app = command_app()


@app.command()
def find(
    *,
    op: Annotated[str | None, typer.Option("--op", metavar="NAME", help="Family, tag or part of a name.")] = None,
    dtype: Annotated[str | None, typer.Option("--dtype", metavar="TYPE", help="Of an input, such as bf16.")] = None,
    gpu: Annotated[str | None, typer.Option("--gpu", metavar="NAME", help="Only this GPU.")] = None,
    shape: Annotated[str | None, typer.Option("--shape", metavar="SIZES", help="Sizes of axes: m=4096,k=7168.")] = None,
    source: Annotated[str | None, typer.Option("--source", metavar="NAME", help="Only results of this source.")] = None,
    output: FORMAT = Format.TABLE,
    as_json: JSON = False,
    catalog: CATALOGUE = None,
) -> None:
    """Find the best result for a shape, and the nearest cases that were measured; nothing is interpolated.

    Example: kictl find --op gemm --dtype bf16 --gpu B200 --shape m=4096,k=7168
    """
    from kictl.catalogue.store import Catalogue
    from kictl.render import found as rendering
    from kictl.workflow import finding

    wanted = finding.Wanted(op, dtype, gpu, source, None if shape is None else finding.parse_shape(shape))
    with Catalogue.open(catalogue_path(catalog)) as catalogue:
        found = finding.find(catalogue, wanted)
    write_as(
        Format.JSON if as_json else output,
        record=lambda: rendering.to_json(found),
        csv=lambda: rendering.to_csv(found),
        grids=lambda _: rendering.to_grids(found),
    )
