"""Sessions of coding agents: found where the agents keep them, imported as they grow, handed over to another."""
