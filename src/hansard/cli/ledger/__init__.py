"""Commands on the ledger as a whole: backup, copy, migrate, prune, stats, verify, doctor."""
