"""What providers accept, and messages adapted to it.

Read in this order:

    conform         adapts messages to a provider's `Rules`, in the order of the modules below
    repair          content, roles, reasoning, files; every change is reported
    merging         adjacent messages of one role
    tool_pairing    calls and results: order, missing ids, missing results
    unicode         lone surrogates
    checks          `hansard validate --for`: the same rules as findings with a place and a fix

A provider's own rules are in `rules` of its folder. May import: the core of `formats`, `model`; no format. Free to
change: texts of findings and repairs. A new rule needs a test with what the provider's SDK or API accepts.
"""
