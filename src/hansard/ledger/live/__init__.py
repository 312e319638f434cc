"""Runs being written: deltas become durable while they stream, other processes follow them, dead runs are recovered.

Read in this order:

    run_handle     `RunHandle`: stage messages, write deltas, commit, abort or fail
    journal        `Journal`: one thread per ledger writes the deltas of all its runs and renews their leases
    delta_codec    deltas as JSON lines, the content of a journal chunk
    tail           `follow`: read the deltas of a run from any process
    interrupt      stop an active run; recover runs whose process died
    stream_tee     `StreamTee`: a provider's stream, recorded while the caller reads it
    answer_recorder    one answer becomes a run: piece by piece, or whole
    raw_streams    streams that other programs write, as runs: create, append, fork, read, delete

Status, heads and rows of runs are in `ledger/runs.py`. May import: the ledger core, `model`, `streams`. Free to change:
intervals and batch sizes, with `tests/ledger/live` and `make prove`. Stored, so ask first: the lines of `delta_codec`,
the status names, and the 15 s lease that processes of different releases compare.
"""
