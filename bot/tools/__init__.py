"""Tools that come from elsewhere: of servers that speak the Model Context Protocol, and skills of plug-ins."""
