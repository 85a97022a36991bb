"""The durable store: campaigns, runs, leases, and every settled window, through SQLAlchemy.

`open_store` opens one, in a directory or in a database of PostgreSQL. The catalogue says what is to
be done; each run has a lease and one writer. Whatever a process knew, the next one finds here.
"""

from orchestrator.store.attempt_keys import AttemptKey
from orchestrator.store.attempts import (
    SUPERVISOR,
    AttemptFailure,
    AttemptStore,
    FreshGrant,
    StoredAttempt,
    StoredFailure,
)
from orchestrator.store.catalogue import Catalogue
from orchestrator.store.codec import company_day_columns, day_digest, read_day
from orchestrator.store.connection import CommitPoint
from orchestrator.store.controls import (
    CAP_REACHED,
    WHOLE_CAMPAIGN,
    RouteControls,
    RoutePause,
    Shortage,
    Waiting,
)
from orchestrator.store.errors import (
    LeaseHeld,
    LeaseLost,
    NoStore,
    TransactionLost,
    WindowAlreadyCommitted,
    WindowConflict,
)
from orchestrator.store.holds import CampaignHolds, Hold
from orchestrator.store.leases import Lease, LeaseState
from orchestrator.store.location import Store, is_shared, open_store
from orchestrator.store.records import (
    Act,
    CampaignRow,
    Checkpoint,
    CompanyWindow,
    DesiredState,
    RunKey,
    RunRow,
    RunStatus,
    RunTransition,
    StoredCheckpoint,
    StoredCompanyDay,
    StoredDay,
    StoredReceipt,
    Target,
    WindowCommit,
)
from orchestrator.store.run_reader import RunReader
from orchestrator.store.runs import RunStore
from orchestrator.store.session_reader import (
    FileVersion,
    LateReply,
    Latest,
    RequestCost,
    SessionReader,
)
from orchestrator.store.sessions import Price, SessionStore
from orchestrator.store.spending_rows import HELD_SECONDS, Asking, Spent

__all__ = [
    "CAP_REACHED",
    "HELD_SECONDS",
    "SUPERVISOR",
    "WHOLE_CAMPAIGN",
    "Act",
    "Asking",
    "AttemptFailure",
    "AttemptKey",
    "AttemptStore",
    "CampaignHolds",
    "CampaignRow",
    "Catalogue",
    "Checkpoint",
    "CommitPoint",
    "CompanyWindow",
    "DesiredState",
    "FileVersion",
    "FreshGrant",
    "Hold",
    "LateReply",
    "Latest",
    "Lease",
    "LeaseHeld",
    "LeaseLost",
    "LeaseState",
    "NoStore",
    "Price",
    "RequestCost",
    "RouteControls",
    "RoutePause",
    "RunKey",
    "RunReader",
    "RunRow",
    "RunStatus",
    "RunStore",
    "RunTransition",
    "SessionReader",
    "SessionStore",
    "Shortage",
    "Spent",
    "Store",
    "StoredAttempt",
    "StoredCheckpoint",
    "StoredCompanyDay",
    "StoredDay",
    "StoredFailure",
    "StoredReceipt",
    "Target",
    "TransactionLost",
    "Waiting",
    "WindowAlreadyCommitted",
    "WindowCommit",
    "WindowConflict",
    "company_day_columns",
    "day_digest",
    "is_shared",
    "open_store",
    "read_day",
]
