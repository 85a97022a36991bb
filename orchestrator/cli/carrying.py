"""Carrying a campaign out from the command line: created, followed, and left without harm."""

import os
import shlex
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from campaigns.plan import CampaignPlan
from manifests.commitments import new_key
from manifests.comparison import told
from manifests.errors import InputError, StoreError
from manifests.model import CampaignManifest
from orchestrator.actors.cluster import HeadSilent, ray_options
from orchestrator.binding import frozen, with_endpoints
from orchestrator.bound import bound_plan
from orchestrator.cli.absence import MOST_ABSENT_SECONDS, Absence
from orchestrator.cli.interruption import INTERRUPTED, Interruption, interruptible
from orchestrator.cli.output import DEFAULT_STORE, campaigns_in, dollars, notice, store_shown
from orchestrator.cli.rehearsing import check_variables, rehearsal_gateway
from orchestrator.cli.watching import View, view
from orchestrator.execution import take_execution
from orchestrator.extension import extend
from orchestrator.money import routes_of
from orchestrator.owners import is_alive, own_name, shown
from orchestrator.scratch import clear_scratch
from orchestrator.session.desk import BOOKS
from orchestrator.session.services import check_playable
from orchestrator.status.progress import CampaignProgress, ProgressReader
from orchestrator.store import Lease, LeaseHeld, Store, open_store
from providers.pricing import cents

if TYPE_CHECKING:
    from orchestrator.actors.session import Session

_LOOK_SECONDS: Final = 0.5
_PATIENCE_SECONDS: Final = 15.0
_MOST_TROUBLES: Final = 2
_WAYS_ON: Final = ("watch", "pause", "results")

# Ray may take that long to start on a busy machine; then the scheduler renews the lease itself.
_START_SECONDS: Final = 120.0


@contextmanager
def created(
    planned: CampaignPlan, location: str, address: str | None, extending: bool = False
) -> Iterator[tuple[Store, str]]:
    """The store, made if need be, with this campaign in it, and the campaign's name.

    Everything is checked before anything is made. `address` is that of the cluster whose hosts are
    to play. When `extending`, a campaign of this name that the store has is extended by the plan.

    Raises:
        InputError: a candidate that cannot play here, an unusable policy or parameter, variables of
            routes that are not set, or another plan of this name in the store.
        StoreError: the store cannot be made or used.
    """
    manifest = frozen(planned)
    check_playable(manifest)
    key = None
    name = planned.definition.name
    if name not in campaigns_in(location):
        check_variables(name, routes_of(planned.definition).values(), address)
    if manifest.decisive.harness is not None:
        key = new_key()
        manifest = with_endpoints(manifest, key, os.environ)
    with open_store(location, create=True) as store:
        if extending:
            _extend(store, planned)
        store.catalogue.create_campaign(manifest, planned.runs, key)
        _take_execution(store, manifest)
        yield store, name


def _take_execution(store: Store, wanted: CampaignManifest) -> None:
    """Carry the campaign out under the limits and services that its file has now; say which."""
    name = wanted.provenance.campaign
    try:
        changes = take_execution(store, wanted)
    except LeaseHeld as held:
        raise _held(name, shown(held.owner), store.location) from held
    if changes:
        lines = told(changes, "before", "now")
        notice(f"Campaign {name} goes on under what its file says now:\n{lines}")


def _extend(store: Store, planned: CampaignPlan) -> None:
    name = planned.definition.name
    if name not in [row.name for row in store.catalogue.campaigns()]:
        return
    try:
        found = extend(store, planned, os.environ)
    except LeaseHeld as held:
        raise _held(name, shown(held.owner), store.location) from held
    notice(
        f"Campaign {name}: {len(found.kept)} runs that have begun are kept, "
        f"{len(found.added)} are added."
    )


def carry_out(
    store: Store,
    campaign: str,
    hosts: int | None,
    address: str | None,
    faults: Path | None = None,
    *,
    temporary: bool = False,
) -> CampaignProgress:
    """Play a campaign until it is at rest, with a view of it on standard error; how it stands then.

    Where the store is `temporary`, nobody is told how to go on.

    Ctrl-C, SIGTERM and SIGHUP leave the campaign at the next boundaries of its runs and end the
    command; the second of them ends it at once. On a cluster they end the command alone.

    Raises:
        InputError: a cluster, a number of hosts, or a rehearsal gateway that cannot be used, or
            variables of routes that are not set.
        StoreError: somebody else carries it out, or the store or Ray refuses.
    """
    reader = ProgressReader(store, campaign)
    progress = reader.read()
    if progress.finished:
        return progress
    if progress.owner is not None:
        raise _held(campaign, progress.owner, store.location)
    definition = bound_plan(store.catalogue.manifest_in_force(campaign)).definition
    routes = routes_of(definition).values()
    check_variables(campaign, routes, address)
    most_hosts = store.most_hosts()
    _check_hosts(hosts, most_hosts)
    lasting = address is not None and not temporary
    begins = "starting Ray" if address is None else f"joining Ray at {address}"
    notice(f"Campaign {campaign} in {store_shown(store.location)}: {begins}.")
    try:
        with (
            interruptible() as interruption,
            _announced(store, campaign) as announced,
            rehearsal_gateway(routes, address, faults),
            ray_options(address) as options,
        ):
            # Ray reads its environment when it is imported.
            with interruption.deferred():
                from orchestrator.actors.session import session

            place = (store.location, campaign, hosts, most_hosts)
            with (
                session(options, *place, lasting=lasting, announced=announced) as running,
                view() as shown_by,
            ):
                interruption.take()
                return _followed(running, reader, shown_by, interruption, address)
    except LeaseHeld as held:
        raise _held(campaign, shown(held.owner), store.location) from held
    except _GoesOn:
        notice(_how_it_goes_on(campaign, address, store.location))
        raise typer.Exit(INTERRUPTED) from None
    except KeyboardInterrupt:
        going_on = "" if temporary else f" {how_to_resume(campaign, store.location, address)}"
        notice(f"Campaign {campaign} was left.{going_on}")
        raise typer.Exit(INTERRUPTED) from None
    except HeadSilent as silent:
        raise _left_by_its_head(silent, campaign, address, store.location) from silent
    finally:
        # Hosts that were killed could not remove what they left.
        clear_scratch(BOOKS)


def _check_hosts(wanted: int | None, most: int | None) -> None:
    if wanted is not None and most is not None and wanted > most:
        raise InputError(
            f"The server of the store has too few connections for {wanted} hosts: they suffice "
            f"for {most}.",
            f"Use --hosts {most}, or raise max_connections of the server.",
        )


def how_to_resume(
    campaign: str, location: str, address: str | None = None, *, capped: bool = False
) -> str:
    """The sentence that says how a campaign goes on, if need be on the cluster at `address`;
    `capped` when a spending cap paused runs.
    """
    go_on = _resuming(campaign, location, address)
    if not capped:
        return f"Go on with: {go_on}"
    raised = _command("spending", campaign, location)
    return f"Raise the cap with: {raised} --cap DOLLARS; then go on with: {go_on}"


def check_caps_known(store: Store, campaign: str) -> None:
    """Raise InputError when caps of a campaign that pays were lost with the catalogue."""
    if not store.controls.caps_are_lost(campaign):
        return
    definition = bound_plan(store.catalogue.manifest(campaign)).definition
    if all(route.prices is None for route in routes_of(definition).values()):
        return
    spent = sum(each.settled for each in store.controls.spent(campaign))
    cap = definition.limits.spending_cap_cents
    own = "no cap" if cap is None else f"a cap of {dollars(cap)}"
    raise InputError(
        f"The caps that were set for campaign {campaign} were lost with the catalogue. Its runs "
        f"have spent up to {dollars(cents(spent))}; its file has {own}.",
        f"Say what it may cost: {_command('spending', campaign, store.location)} --cap DOLLARS; "
        "caps of single routes with --candidate.",
    )


def _resuming(campaign: str, location: str, address: str | None) -> str:
    resume = _command("resume", campaign, location)
    return resume if address is None else f"{resume} --address {address}"


class _GoesOn(KeyboardInterrupt):
    """The command was asked to end, and its campaign goes on without it."""


def _how_it_goes_on(campaign: str, address: str | None, location: str) -> str:
    ways = "\n".join(f"  {_command(verb, campaign, location)}" for verb in _WAYS_ON)
    return (
        f"Campaign {campaign} goes on in the cluster at {address}, without this command. "
        f"From any shell that reaches the store:\n{ways}\n"
        f"Once paused, it goes on with:\n  {_resuming(campaign, location, address)}"
    )


def _left_by_its_head(
    silent: HeadSilent, campaign: str, address: str | None, location: str
) -> StoreError:
    return StoreError(
        f"{silent.message} If it is gone, campaign {campaign} stands still, and nothing that was "
        "stored is lost; if only this machine cannot reach it, the campaign goes on.",
        f"See which with: {_command('watch', campaign, location)}\n"
        f"  If it stands still, start the cluster again, then: "
        f"{_resuming(campaign, location, address)}",
    )


def _followed(
    running: "Session",
    reader: ProgressReader,
    shown_by: View,
    interruption: Interruption,
    address: str | None,
) -> CampaignProgress:
    unread, absence = "", Absence()
    try:
        with interruption.deferred():
            running.begin()
        end = None
        while end is None:
            interruption.check()
            if running.lasting and absence.lasted(time.monotonic()) >= MOST_ABSENT_SECONDS:
                raise _forsaken()
            try:
                progress = reader.read()
                absence.note(progress.owner, time.monotonic())
                shown_by.show(progress)
            except StoreError as error:
                # A disk that is too full to look must not end what still goes on.
                if error.in_one_line != unread:
                    unread = error.in_one_line
                    notice(f"How the campaign stands cannot be read: {unread}")
            end = running.ended(_LOOK_SECONDS)
    except KeyboardInterrupt:
        if running.lasting:
            raise _GoesOn from None
        notice("Leaving: runs stop at their next window boundary. Again to leave at once.")
        running.leave(_PATIENCE_SECONDS)
        raise
    except HeadSilent:
        raise
    except StoreError as error:
        raise _stopped(reader, [error.in_one_line], address) from error
    if end.troubles:
        raise _stopped(reader, end.troubles, address)
    progress = reader.read()
    shown_by.close(progress)
    return progress


def _forsaken() -> StoreError:
    return StoreError(
        f"Nobody has carried it out for {MOST_ABSENT_SECONDS:.0f} seconds: Ray has not started its "
        "scheduler again, as when the head node is another one.",
        "Nothing that was stored is lost.",
    )


def _stopped(reader: ProgressReader, troubles: Sequence[str], address: str | None) -> StoreError:
    lines = [f"  {trouble}" for trouble in troubles[:_MOST_TROUBLES]]
    if len(troubles) > len(lines):
        lines.append(f"  The same or the like in {len(troubles) - len(lines)} more runs.")
    return StoreError(
        "\n".join([f"Campaign {reader.campaign} cannot go on:", *lines]),
        f"Put that right, then: {_resuming(reader.campaign, reader.location, address)}",
    )


@contextmanager
def _announced(store: Store, campaign: str) -> Iterator[Lease | None]:
    """Hold the campaign's lease while Ray starts, in the name under which its scheduler takes it;
    one that outlives this command has a name of its own, and gives this lease up.

    So others see that somebody is about to carry the campaign out.
    """
    lease = None
    try:
        lease = store.catalogue.acquire_campaign(campaign, own_name(), _START_SECONDS)
    except LeaseHeld as held:
        if is_alive(held.owner):
            raise
        # Whoever holds it may have died unseen; the scheduler finds that out.
    try:
        yield lease
    finally:
        if lease is not None:
            with suppress(StoreError):
                store.catalogue.release(lease)


def _held(campaign: str, owner: str, location: str) -> StoreError:
    return StoreError(
        f"Campaign {campaign} is being carried out by {owner} already.",
        f"Follow it with: {_command('watch', campaign, location)}",
    )


def _command(verb: str, campaign: str, location: str) -> str:
    place = store_shown(location)
    option = "" if place == DEFAULT_STORE else f" --store {shlex.quote(place)}"
    return f"ceo-arena {verb} {campaign}{option}"
