"""Live answers: any provider's stream in, one message out, any client's stream out. The caller owns the socket."""
