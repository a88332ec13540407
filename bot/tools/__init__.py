"""Tools that come from elsewhere: the servers that an operator connects by the Model Context Protocol."""
