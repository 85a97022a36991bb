"""One file per mechanism of the market; each changes only the state it is handed (market.md)."""
