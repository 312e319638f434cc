// A thread's tree in memory: a path in order (the active one, or that to `end`), parents and children, and the path cut
// into pieces for the page.

const PIECE = 40;

export class Path {
  // `agents` has the sub-agents by their first messages; they are not versions of the messages beside them.
  constructor(nodes, end = null, agents = new Map()) {
    Object.assign(this, { nodes, end, agents });
    this.byId = new Map(nodes.map((node) => [node.id, node]));
    this.children = new Map();
    for (const node of nodes) {
      const beside = this.children.get(node.parentId);
      if (beside) beside.push(node.id);
      else this.children.set(node.parentId, [node.id]);
    }
    this.ids = end === null ? nodes.filter((node) => node.active).sort((a, b) => a.depth - b.depth).map((node) => node.id) : this.upTo(end);
    this.place = new Map(this.ids.map((id, at) => [id, at]));
  }

  upTo(end) {
    const ids = [];
    for (let node = this.byId.get(end); node; node = this.byId.get(node.parentId)) ids.push(node.id);
    return ids.reverse();
  }

  // The end of the branch of a message: follow the newest child.
  tip(id) {
    for (let below = this.versions(id); below.length; below = this.versions(id)) id = below.at(-1);
    return id;
  }

  // The messages that follow a message, without sub-agents.
  versions(id) {
    return (this.children.get(id) ?? []).filter((one) => !this.agents.has(one));
  }

  // The number of branches, without those of sub-agents.
  ends() {
    const inside = new Set();
    for (const node of this.nodes) if (this.agents.has(node.id) || inside.has(node.parentId)) inside.add(node.id);
    const own = this.nodes.filter((node) => !inside.has(node.id));
    return own.length - new Set(own.map((node) => node.parentId).filter((id) => id !== null)).size;
  }

  siblings(id) {
    const node = this.byId.get(id);
    const beside = node && !this.agents.has(id) ? this.versions(node.parentId) : [];
    return beside.length > 1 ? beside : null;
  }

  // The user message before an answer.
  promptOf(id) {
    for (let at = this.place.get(id) ?? -1; at >= 0; at--) if (this.byId.get(this.ids[at]).role === "user") return this.ids[at];
    return null;
  }

  // Pieces never end between a call and the results that follow it.
  pieces() {
    const made = [];
    let start = 0;
    for (let at = 1; at <= this.ids.length; at++) {
      const full = at - start >= PIECE && this.byId.get(this.ids[at])?.role !== "tool";
      const far = at - start >= 500;
      if (at === this.ids.length || full || far) {
        made.push({ ids: this.ids.slice(start, at), after: start ? this.ids[start - 1] : null });
        start = at;
      }
    }
    return made;
  }
}
