"""The experiment, before and after: campaign files, plans, outcome records and their analysis."""
