"""The texts of `/connect`."""

CONNECT_OFF = "Connecting accounts is turned off here. An operator can turn it on with COGENCY_CONNECT."
NOT_HERE = "A terminal has no other accounts to connect. Use /connect in Slack or Discord."
IN_DM = "To connect your accounts, use `/connect` in a direct message with me, where only you see the code."
CODE = (
    "To connect another account, send me this from that account in a direct message within {minutes} minutes:\n\n"
    "`/connect {code}`\n\nThen come back and press *I entered the code*. Never give the code to anyone else: the "
    "account that enters it could read what you told me in direct messages."
)
ENTERED_BUTTON = "I entered the code"
NOT_ENTERED = (
    "Your other account has not confirmed the code yet. Enter the code there, press *This is my account*, and try "
    "again."
)
WRONG_CODE = (
    "This code is not valid. A code works once, for {minutes} minutes, and only in another account. To get a new one, "
    "use `/connect` in the account that you want to connect."
)
TOO_OFTEN = "You entered too many codes. Wait an hour, then try again."
TOO_MANY = "You can connect up to {limit} other accounts. To remove one, use `/connect`."
IS_IT_YOURS = (
    "This code was created by {account}. Continue only if that is your own account. Once it is connected, its owner "
    "can read what you told me in direct messages here, and you can read what they told me there."
)
IT_IS_MINE = "This is my account"
CANCEL = "Cancel"
CANCELED = "Nothing was connected."
CONFIRM_THERE = (
    "Almost done. Go back to {account} within {minutes} minutes, and press *I entered the code* or use `/connect`."
)
GONE = "This request has expired. To start again, use `/connect`."
CONNECT_THEM = (
    "{account} entered your code. Is that your own account? Once it is connected, its owner can read what you told "
    "me in direct messages here, and you can read what they told me there."
)
CONNECT = "Connect"
NOT_ME = "That was not me"
REFUSED = "I did not connect {account}. Someone else might have seen your code, so keep codes to yourself."
CONNECTED = (
    "Your accounts are connected. In direct messages, I now use what you told me in any of them. Their spending is "
    "combined, and `/forget` covers all of them, except `/forget thread`. Channels stay separate. To disconnect, use "
    "`/connect off`."
)
YOURS = "Your connected accounts:"
CONNECT_ANOTHER = "Connect another account"
DISCONNECT = "Disconnect {number}"
DISCONNECT_CONFIRM = "Your accounts will no longer share what you told me."
NONE_CONNECTED = "No other account is connected."
DISCONNECTED = "Disconnected: {accounts}. Each account keeps what was said there."
ACCOUNT = "**{name}** (ID {id}) on {platform}"
UNREADABLE = "the account {id} on {platform}, which I cannot check right now"
NAMELESS = "an account without a name"
UNCHECKED = (
    "I cannot check that account right now, so nothing was connected. Try again with a new code in a few minutes."
)
USAGE = "Write `/connect` to get a code, `/connect` and a code to enter one, or `/connect off` to disconnect."

# In the audit.
DID_AGREE = "named an account on {platform} as theirs"
DID_CONNECT = "connected an account on {platform}"
DID_DISCONNECT = "disconnected an account on {platform}"
