"""What people read in commands, their menus, windows and help, on every platform. Pure."""

SUMMARISE_THREAD = "Summarize this thread"
SUMMARISE_ONWARDS = "Summarize from here"
SUMMARISE_WHAT = "Read what was written there and summarize it. Only you see the answer."
SUMMARISE_THREAD_QUESTION = "Please read this whole thread and summarize it for me: {link}"
SUMMARISE_ONWARDS_QUESTION = "Please read what was written here from this message on and summarize it for me: {link}"

# Windows for what is remembered

PAGE = "Page {page} of {pages}"
EARLIER_PAGE = "Earlier page"
NEXT_PAGE = "Next page"

# Windows and buttons for forgetting

SOMETHING_ELSE = "Something else…"
