"""Commands on the threads of a ledger: threads, show, tree, search, import, export, fork, checkout, handover, forget.

`import_` carries the underscore because `import` is a keyword.
"""
