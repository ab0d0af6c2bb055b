// The panel of the report, which tells of one operator or kernel, and what makes elements.

// An element with properties and children.
const make = (tag, properties, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};
// A long name like a+b+c may be broken after each +.
const breakable = text => {
  const span = make('span');
  text.split(/(?<=[+/_:])/).forEach(part => span.append(part, make('wbr')));
  return span;
};
const labelOf = op => op.name ? op.op + ' ' + op.name : op.op;
const link = (text, onclick) => make('button', {className: 'link', textContent: text, onclick});

class Panel {
  // `data`: the page's data; `sides`: by name, filled later; `goTo` shows a step.
  constructor(data, sides, goTo) {
    this.data = data;
    this.sides = sides;
    this.goTo = goTo;
    this.box = document.getElementById('panel');
    this.opener = null;  // what had the focus before
    document.addEventListener('keydown', e => {
      if (e.key === 'Escape' && !this.box.hidden) this.close();
    });
  }
  close() {
    this.box.hidden = true;
    document.body.classList.remove('with-panel');
    for (const side of Object.values(this.sides)) side.pick(null);
    if (this.opener && this.opener.isConnected) this.opener.focus({preventScroll: true});
  }
  // `rows`: pairs of a name, and a text, an element or a list of them; empty ones are left out.
  open(title, rows, more) {
    if (this.box.hidden) this.opener = document.activeElement;
    const list = make('dl');
    for (const [name, value] of rows) {
      if (value === undefined || value === '' || value.length === 0) continue;
      const parts = Array.isArray(value) ? value : [value];
      const cell = make('dd');
      parts.forEach((part, i) => cell.append(...(i ? [make('br'), part] : [part])));
      list.append(make('dt', {textContent: name}), cell);
    }
    const close = make('button', {className: 'close', textContent: '×', onclick: () => this.close()});
    close.setAttribute('aria-label', 'close');
    this.box.replaceChildren(close, make('h2', {textContent: title}), list, ...more);
    this.box.hidden = false;
    this.box.scrollTop = 0;
    document.body.classList.add('with-panel');
  }

  // The rules of these steps, each once.
  rules(steps) {
    const names = [...new Set(steps.map(s => this.data.steps[s].rule))];
    return names.flatMap(name => {
      const rule = this.data.rules[name], heading = make('h3', {textContent: name});
      if (!rule) return [heading];
      return [
        heading,
        make('p', {textContent: rule.words + '; ' + rule.contract + '.'}),
        make('p', {className: 'hash',
          textContent: rule.proof ? 'proof ' + rule.proof + ', for ' + rule.covers : 'not proved'}),
        make('pre', {textContent: rule.text, tabIndex: 0}),
      ];
    });
  }
  // What an operator reads, as a text or as a link.
  read(side, read) {
    const text = (read.name || read.kind || '') + ' ' + read.type;
    if (read.op === undefined) return (read.name ? read.kind + ' ' : '') + text;
    const op = this.data[side].ops[read.op].op;
    return link((op + ' ' + text).trim(), () => this.sides[side].show(read.op));
  }
  showOp(side, number) {
    const all = this.data[side], op = all.ops[number];
    const partner = op.with === undefined ? null : all.ops[op.with];
    const own = op.kernels || (partner ? partner.kernels : []);
    const kernels = own.map(k => {
      const kernel = all.kernels[k];
      return breakable([kernel.name, kernel.note].filter(Boolean).join(', '));
    });
    const timed = partner || op;
    if (partner) {
      kernels.unshift(make('span', {}, 'none of its own; goes with ',
        link(labelOf(partner), () => this.sides[side].show(op.with)), ':'));
    }
    this.open(op.op, [
      ['name', op.name],
      ['graph', side + ', operator ' + (number + 1) + ' of ' + all.ops.length],
      ['result', op.types],
      ['reads', (op.reads || []).map(read => this.read(side, read))],
      ['attributes', (op.attrs || []).map(([name, value]) => name + ' = ' + value)],
      ['kernel', kernels],
      ['time', timed.time ? timed.time + ', ' + timed.share + ' of this graph' +
        (partner ? ', together' : '') : ''],
      ['work', own.map(k => all.kernels[k].work).filter(Boolean)],
      ['roofline', timed.roof],
      [side === 'before' ? 'replaced by' : 'made by', (op.steps || []).slice(0, 20).map(s =>
        link('step ' + (s + 1) + ', ' + this.data.steps[s].rule, () => this.goTo(s)))],
    ], this.rules(op.steps || []));
  }
  showKernel(side, number) {
    const kernel = this.data[side].kernels[number];
    if (kernel.op !== undefined) { this.sides[side].show(kernel.op); return; }
    this.open(kernel.name, [['graph', side], ['value', kernel.value],
      ['time', kernel.time + ', ' + kernel.share + ' of this graph'], ['work', kernel.work],
      ['roofline', kernel.roof], ['note', kernel.note]], []);
  }
}
