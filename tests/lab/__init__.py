"""The lab: real coding agents, offline against a scripted provider, and every promise of Hansard checked on them.

    make agents                      all agents of versions.toml: a table agent x promise; exit 1 if a cell fails
    make agents ARGS="codex claude"  some of them; `claude@2.1.327` is one version
    make agents ARGS="--record"      also write the sessions to tests/golden/lab, where `make test` reads them

The cells that a run checked go to tests/golden/lab/table.json and into README's list of agents.

To try a new release of an agent: change its version in `versions.toml` and run. Read in this order:

    versions.toml   which releases are run
    install         npm installs them below tests/lab/.agents on demand
    agents          how each agent is started, resumed and forked offline, and which of its tools does what
    scenario        what is asked, and what the model answers: neutral steps
    provider        the scripted provider on loopback; wires: the four request formats it speaks
    processes       runs a program, interrupts it, ends everything that was started
    session         plays the scenario with one agent; the manifest: what is true, without asking Hansard
    promises        the cells of the table: each compares what `hansard` does with the manifest
    golden          the recorded sessions as files of the project
    table           what was seen to hold for each agent, kept in the project, and README's table

Nothing leaves the machine: agents get dummy keys, and the address of the provider on loopback. The folders of HOME and
workspace are always the same (`session.ROOT`), since agents write them into their files.
"""
