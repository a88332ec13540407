// A person's socket: it is connected again for ever, asks for what changed since, and sends what was not answered once
// more, under the name that it had: so nothing is lost, and nothing doubled.

const PROTOCOL = "cogency-play";
const WRONG_TOKEN = 4403;
const FIRST_MS = 300;
const MOST_MS = 5000;
const AWAY = "The connection was lost. Your messages will be sent when it is back.";
const EARLIER = "This address is no longer valid. Open the address that your terminal shows now.";
const NO_TOKEN = "This address has no token. Open the address that your terminal shows.";

export class Link {
  constructor(person, token, told) {
    this.person = person;
    this.token = token;
    this.told = told; // {hello, changed, told, linked}
    this.log = "";
    this.since = 0;
    this.number = 0;
    this.pause = FIRST_MS;
    this.waiting = new Map(); // by number: what was asked, and who waits for the answer
  }

  connect() {
    if (!this.token) {
      this.told.linked(NO_TOKEN);
      return;
    }
    const query = `?log=${encodeURIComponent(this.log)}&since=${this.since}`;
    const socket = new WebSocket(`ws://${location.host}/socket/${this.person}${query}`, [PROTOCOL, this.token]);
    this.socket = socket;
    socket.addEventListener("message", (event) => this.heard(JSON.parse(event.data)));
    socket.addEventListener("close", (event) => {
      if (this.socket !== socket) return;
      if (event.code === WRONG_TOKEN) {
        this.told.linked(EARLIER);
        return;
      }
      this.told.linked(AWAY);
      setTimeout(() => this.connect(), this.pause);
      this.pause = Math.min(this.pause * 2, MOST_MS);
    });
  }

  heard(told) {
    switch (told.type) {
      case "hello":
        this.log = told.log;
        this.pause = FIRST_MS;
        this.told.hello(told);
        this.told.linked("");
        for (const { asked } of this.waiting.values()) this.socket.send(JSON.stringify(asked));
        break;
      case "changed":
        this.told.changed(told.messages);
        break;
      case "at":
        this.since = told.change;
        this.told.told();
        break;
      default: {
        const waits = this.waiting.get(told.number);
        this.waiting.delete(told.number);
        waits?.answered(told);
      }
    }
  }

  // What is answered: {type: "done"} or {type: "refused", why}, and whatever comes with it.
  ask(type, what) {
    const asked = { number: ++this.number, type, ...what };
    if (type === "say") asked.key = crypto.randomUUID();
    return new Promise((answered) => {
      this.waiting.set(asked.number, { asked, answered });
      if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(asked));
    });
  }
}
