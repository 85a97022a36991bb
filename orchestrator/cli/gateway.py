"""The command that runs a rehearsal gateway."""

from contextlib import suppress
from pathlib import Path
from typing import Annotated, Final

import typer

from orchestrator.cli.output import FaultsOption, notice
from orchestrator.cli.rehearsing import KEY_VARIABLE, URL_VARIABLE
from orchestrator.cli.tables import print_text

app = typer.Typer()

_DAY: Final = 86_400


@app.command()
def gateway(
    host: Annotated[str, typer.Option(help="The loopback address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(metavar="N", min=0, max=65_535, help="The port; 0 takes any free one."),
    ] = 8080,
    delay: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", min=0, max=_DAY, help="From a request to a reply's first byte."
        ),
    ] = 0.0,
    stream: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", min=0, max=_DAY, help="From a reply's first byte to its last."
        ),
    ] = 0.0,
    chunks: Annotated[
        int,
        typer.Option(metavar="N", min=1, max=100_000, help="Pieces into which a reply is cut."),
    ] = 24,
    ledger: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Note every request and reply there, and go on counting from what it has.",
            show_default="counted in memory alone",
        ),
    ] = None,
    faults: FaultsOption = None,
) -> None:
    """Run the rehearsal gateway: scripted agents that play the models, until ctrl-C.

    It speaks Chat Completions, Responses and Messages, as strictly as real
    services do.
    Prints, on standard output, the two lines that let a campaign find it.
    `launch` starts a gateway of its own when none is named; this one is for
    a Ray cluster, for several campaigns, and for looking at what is counted.
    It serves this machine alone, and takes any key.
    """
    from providers.rehearsal import GatewayOptions, serve
    from providers.rehearsal.agents import AGENTS
    from providers.rehearsal.faults import load_fault_plan

    options = GatewayOptions(
        reply_delay_seconds=delay,
        stream_seconds=stream,
        chunks_per_reply=chunks,
        ledger=ledger,
        faults=None if faults is None else load_fault_plan(faults),
    )

    def started(base_url: str) -> None:
        print_text(f"export {URL_VARIABLE}={base_url}", f"export {KEY_VARIABLE}=rehearsal")
        notice(f"Agents: {', '.join(AGENTS)}")
        notice(f"Counted so far: {base_url.removesuffix('/v1')}/rehearsal/statistics")
        notice("Serving until ctrl-C.")

    with suppress(KeyboardInterrupt):
        serve(host, port, options, started)
    notice("The gateway has ended.")
