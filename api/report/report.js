// The report of an optimization: its data are in #data. All numbers come from there as texts.
(() => {
const source = document.getElementById('data');
if (!source) return;
const data = JSON.parse(source.textContent);
const panel = document.getElementById('panel'), hint = document.getElementById('hint');
const sides = {};
for (const shown of document.querySelectorAll('.script, .tools, #player')) shown.hidden = false;

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

// ---- The panel ----

let opener = null;
const closePanel = () => {
  panel.hidden = true;
  document.body.classList.remove('with-panel');
  for (const side of Object.values(sides)) side.pick(null);
  if (opener && opener.isConnected) opener.focus({preventScroll: true});
};
const openPanel = (title, rows, more) => {
  if (panel.hidden) opener = document.activeElement;
  const list = make('dl');
  for (const [name, value] of rows) {
    if (value === undefined || value === '' || value.length === 0) continue;
    const parts = Array.isArray(value) ? value : [value];
    const cell = make('dd');
    parts.forEach((part, i) => cell.append(...(i ? [make('br'), part] : [part])));
    list.append(make('dt', {textContent: name}), cell);
  }
  const close = make('button', {className: 'close', textContent: '×', onclick: closePanel});
  close.setAttribute('aria-label', 'close');
  panel.replaceChildren(close, make('h2', {textContent: title}), list, ...more);
  panel.hidden = false;
  panel.scrollTop = 0;
  document.body.classList.add('with-panel');
};
document.addEventListener('keydown', e => {
  if (e.key === 'Escape' && !panel.hidden) closePanel();
});
const link = (text, onclick) => make('button', {className: 'link', textContent: text, onclick});

const ruleBlocks = steps => {
  const names = [...new Set(steps.map(s => data.steps[s].rule))];
  return names.flatMap(name => {
    const rule = data.rules[name];
    if (!rule) return [make('h3', {textContent: name})];
    return [
      make('h3', {textContent: name}),
      make('p', {textContent: rule.words + '; ' + rule.contract + '.'}),
      make('p', {className: 'hash',
        textContent: rule.proof ? 'proof ' + rule.proof + ', for ' + rule.covers : 'not proved'}),
      make('pre', {textContent: rule.text, tabIndex: 0}),
    ];
  });
};
// What an operator or input is called in the lists of the panel.
const readOf = (side, read) => {
  const text = (read.name || read.kind || '') + ' ' + read.type;
  if (read.op === undefined) return (read.name ? read.kind + ' ' : '') + text;
  return link((data[side].ops[read.op].op + ' ' + text).trim(), () => sides[side].show(read.op));
};
const showOp = (side, number) => {
  const op = data[side].ops[number], all = data[side];
  const partner = op.with === undefined ? null : all.ops[op.with];
  const own = op.kernels || (partner ? partner.kernels : []);
  const kernels = own.map(k => {
    const kernel = all.kernels[k];
    return breakable([kernel.name, kernel.note].filter(Boolean).join(', '));
  });
  const timed = partner || op;
  if (partner) {
    kernels.unshift(make('span', {}, 'none of its own; goes with ',
      link(labelOf(partner), () => sides[side].show(op.with)), ':'));
  }
  openPanel(op.op, [
    ['name', op.name],
    ['graph', side + ', operator ' + (number + 1) + ' of ' + all.ops.length],
    ['result', op.types],
    ['reads', (op.reads || []).map(read => readOf(side, read))],
    ['attributes', (op.attrs || []).map(([name, value]) => name + ' = ' + value)],
    ['kernel', kernels],
    ['time', timed.time ? timed.time + ', ' + timed.share + ' of this graph' +
      (partner ? ', together' : '') : ''],
    ['work', own.map(k => all.kernels[k].work).filter(Boolean)],
    ['roofline', timed.roof],
    [side === 'before' ? 'replaced by' : 'made by', (op.steps || []).slice(0, 20).map(s =>
      link('step ' + (s + 1) + ', ' + data.steps[s].rule, () => goTo(s)))],
  ], ruleBlocks(op.steps || []));
};
const showKernel = (side, number) => {
  const kernel = data[side].kernels[number];
  if (kernel.op !== undefined) { sides[side].show(kernel.op); return; }
  openPanel(kernel.name, [['graph', side], ['value', kernel.value],
    ['time', kernel.time + ', ' + kernel.share + ' of this graph'], ['work', kernel.work],
    ['roofline', kernel.roof], ['note', kernel.note]], []);
};

// ---- One graph ----

class Side {
  constructor(box) {
    this.name = box.dataset.side;
    this.data = data[this.name];
    this.map = box.querySelector('.map');
    this.crumbs = box.querySelector('.crumbs');
    this.overview = this.map.querySelector('.sheet');
    this.block = null;  // the number of the open block
    this.copy = 0;
    this.zoom = 1;
    this.picked = null;
    this.stepped = [];
    this.found = new Set();
    this.box = box;
    if (!this.overview) { box.querySelector('.tools').hidden = true; return; }
    this.prepare(this.overview);
    this.listen();
    this.addTools();
    this.setZoom(this.firstZoom());
    this.map.scrollLeft = (this.map.scrollWidth - this.map.clientWidth) / 2;
  }

  // Names each box for people and for the keyboard.
  prepare(sheet) {
    const svg = sheet.querySelector('svg');
    if (!svg) return;
    svg.dataset.width = svg.viewBox.baseVal.width;
    svg.dataset.height = svg.viewBox.baseVal.height;
    for (const one of svg.querySelectorAll('[id]')) one.removeAttribute('id');
    for (const title of svg.querySelectorAll('g.graph > title, .edge title')) title.remove();
    let first = true;
    for (const node of svg.querySelectorAll('.node')) {
      const anchor = node.querySelector('a'), title = node.querySelector('title');
      const text = [...node.querySelectorAll('text')].map(t => t.textContent).join(' ');
      const name = anchor ? anchor.getAttribute('xlink:title') || '' : '';
      title.textContent = name;
      const numbers = /\b(op|block)_(\d+)/.exec(node.getAttribute('class'));
      if (!numbers) continue;
      node.dataset[numbers[1]] = numbers[2];
      node.setAttribute('role', 'button');
      node.setAttribute('aria-label', (text + ' ' + name).trim());
      node.setAttribute('tabindex', first ? '0' : '-1');
      first = false;
    }
  }
  sheet() { return this.map.querySelector('.sheet:not([hidden])'); }
  nodes() { return [...this.sheet().querySelectorAll('[data-op], [data-block]')]; }
  // The operator that a box of the shown sheet stands for.
  opOf(node) {
    const number = Number(node.dataset.op);
    return this.block === null ? number : number + this.copy * this.data.blocks[this.block].period;
  }
  blockOf(op) {
    return this.data.blocks.findIndex(b => b.first <= op && op < b.first + b.period * b.copies);
  }
  nodeOf(op) {
    if (!this.overview) return null;
    const block = this.blockOf(op);
    if (this.block === null) {
      return this.sheet().querySelector(block >= 0 ? `[data-block="${block}"]` : `[data-op="${op}"]`);
    }
    if (block !== this.block) return null;
    const first = op - this.copy * this.data.blocks[block].period;
    return this.sheet().querySelector(`[data-op="${first}"]`);
  }

  listen() {
    let drag = null;
    this.map.addEventListener('click', e => {
      const node = e.target.closest('[data-op], [data-block]');
      if (node && !(drag && drag.moved)) this.choose(node);
    });
    this.map.addEventListener('keydown', e => {
      const node = e.target.closest('.node');
      if (!node) return;
      if (e.key === 'Enter' || e.key === ' ') { e.preventDefault(); this.choose(node); return; }
      const step = {ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1}[e.key];
      const nodes = this.nodes(), at = nodes.indexOf(node);
      const to = e.key === 'Home' ? 0 : e.key === 'End' ? nodes.length - 1 : at + step;
      if (!nodes[to]) return;
      e.preventDefault();
      this.focus(nodes[to]);
    });
    // The mouse drags; fingers scroll by themselves.
    this.map.addEventListener('pointerdown', e => {
      if (e.pointerType !== 'mouse' || e.button !== 0) return;
      drag = {x: e.clientX, y: e.clientY, left: this.map.scrollLeft, top: this.map.scrollTop};
    });
    addEventListener('pointermove', e => {
      if (!drag || !e.buttons) return;
      const x = e.clientX - drag.x, y = e.clientY - drag.y;
      if (!drag.moved && Math.hypot(x, y) < 4) return;
      drag.moved = true;
      this.map.classList.add('grabbed');
      this.map.scrollTo(drag.left - x, drag.top - y);
    });
    addEventListener('pointerup', () => {
      this.map.classList.remove('grabbed');
      setTimeout(() => { drag = null; });
    });
    this.map.addEventListener('wheel', e => {
      if (!e.ctrlKey) return;
      e.preventDefault();
      this.setZoom(this.zoom * (e.deltaY < 0 ? 1.15 : 1 / 1.15), e);
    }, {passive: false});
  }
  choose(node) {
    if (node.dataset.block !== undefined) this.open(Number(node.dataset.block), 0);
    else this.show(this.opOf(node));
  }
  focus(node) {
    for (const other of this.nodes()) other.setAttribute('tabindex', other === node ? '0' : '-1');
    node.focus({preventScroll: true});
    this.center(node);
  }

  fit() {
    const svg = this.sheet().querySelector('svg');
    return svg ? Math.min(1.2, (this.map.clientWidth - 24) / svg.dataset.width,
      (this.map.clientHeight - 24) / svg.dataset.height) : 1;
  }
  // As wide as the box, but letters stay readable.
  firstZoom() {
    const svg = this.sheet().querySelector('svg');
    return svg ? Math.max(0.75, Math.min(1, (this.map.clientWidth - 24) / svg.dataset.width)) : 1;
  }
  setZoom(zoom, at) {
    const svg = this.sheet().querySelector('svg');
    if (!svg) return;
    const r = this.map.getBoundingClientRect();
    const x = at ? at.clientX - r.left : r.width / 2, y = at ? at.clientY - r.top : r.height / 2;
    const factor = Math.min(4, Math.max(0.02, zoom)) / this.zoom;
    const left = (this.map.scrollLeft + x) * factor - x, top = (this.map.scrollTop + y) * factor - y;
    this.zoom *= factor;
    svg.style.width = svg.dataset.width * this.zoom + 'px';
    svg.style.height = svg.dataset.height * this.zoom + 'px';
    this.map.scrollTo(left, top);
  }
  center(node) {
    const n = node.getBoundingClientRect(), m = this.map.getBoundingClientRect();
    this.map.scrollLeft += n.left + n.width / 2 - m.left - m.width / 2;
    this.map.scrollTop += n.top + n.height / 2 - m.top - m.height / 2;
  }

  // Shows a block; null: all blocks folded.
  open(block, copy) {
    if (!this.overview) return;
    const change = block !== this.block;
    this.block = block;
    this.copy = copy;
    if (change) {
      for (const sheet of this.map.querySelectorAll('.sheet')) {
        if (sheet === this.overview) sheet.hidden = block !== null; else sheet.remove();
      }
      if (block !== null) this.addSheet(block);
      this.zoom = 1;
      this.setZoom(this.firstZoom());
      this.map.scrollTo((this.map.scrollWidth - this.map.clientWidth) / 2, 0);
    }
    this.drawCrumbs();
    this.paint();
  }
  addSheet(block) {
    const template = this.map.querySelector(`template[data-block="${block}"]`);
    const sheet = make('div', {className: 'sheet'});
    if (template) {
      sheet.append(template.content.cloneNode(true));
    } else {  // too large to be drawn: a list
      const {first, period} = this.data.blocks[block];
      const list = make('ol', {start: first + 1});
      for (let op = first; op < first + period; ++op) {
        const button = link(labelOf(this.data.ops[op]) + ' ' + this.data.ops[op].types[0], () => {});
        button.dataset.op = op;
        list.append(make('li', {}, button));
      }
      sheet.append(list);
    }
    this.map.append(sheet);
    this.prepare(sheet);
  }
  drawCrumbs() {
    this.crumbs.hidden = this.block === null;
    if (this.block === null) return;
    const block = this.data.blocks[this.block];
    const back = make('button', {textContent: '← whole graph', onclick: () => {
      const number = this.block;
      this.open(null, 0);
      this.focus(this.overview.querySelector(`[data-block="${number}"]`));
    }});
    const parts = [back, make('b', {textContent: block.name})];
    if (block.time) parts.push(make('small', {textContent: block.time + ', ' + block.share}));
    if (block.copies > 1) {
      const turn = by => () =>
        this.open(this.block, (this.copy + by + block.copies) % block.copies);
      const left = make('button', {textContent: '◀', onclick: turn(-1)});
      const right = make('button', {textContent: '▶', onclick: turn(1)});
      left.setAttribute('aria-label', 'previous copy');
      right.setAttribute('aria-label', 'next copy');
      const which = 'copy ' + (this.copy + 1) + ' of ' + block.copies;
      parts.push(make('span', {className: 'buttons'}, left, which, right));
    }
    this.crumbs.replaceChildren(...parts);
  }

  // Shows an operator in the drawing and in the panel.
  show(op) {
    const block = this.blockOf(op);
    if (block >= 0) {
      const {first, period} = this.data.blocks[block];
      this.open(block, Math.floor((op - first) / period));
    } else if (this.block !== null) {
      this.open(null, 0);
    }
    for (const side of Object.values(sides)) side.pick(side === this ? op : null);
    showOp(this.name, op);
    const node = this.nodeOf(op);
    if (node) this.center(node);
  }
  pick(op) { this.picked = op; this.paint(); }
  // Marks where a step took place.
  step(ops) {
    this.stepped = ops;
    if (!this.overview) return;
    const here = ops.filter(op => this.blockOf(op) === this.block);
    if (this.block !== null && here.length) {
      const {first, period} = this.data.blocks[this.block];
      this.open(this.block, Math.floor((here[0] - first) / period));
    } else if (this.block !== null && ops.length) {
      this.open(null, 0);
    }
    this.paint();
    const node = ops.length && this.nodeOf(here.length ? here[0] : ops[0]);
    if (node) this.center(node);
  }
  // Gives the boxes of the shown sheet their classes.
  paint() {
    if (!this.overview) return;
    const marks = {stepped: this.stepped, picked: this.picked === null ? [] : [this.picked],
      found: [...this.found]};
    for (const name of Object.keys(marks)) {
      for (const node of this.sheet().querySelectorAll('.' + name)) node.classList.remove(name);
      for (const op of marks[name]) {
        const node = this.nodeOf(op);
        if (node) node.classList.add(name);
      }
    }
  }

  addTools() {
    const tools = this.box.querySelector('.tools');
    const input = tools.querySelector('input'), output = tools.querySelector('output');
    let hits = [], at = -1;
    const go = () => {
      output.textContent = hits.length ? (at + 1) + ' of ' + hits.length : 'none';
      const block = hits.length ? this.blockOf(hits[at]) : -1;
      if (block >= 0) {
        const {first, period} = this.data.blocks[block];
        this.open(block, Math.floor((hits[at] - first) / period));
      } else if (hits.length && this.block !== null) {
        this.open(null, 0);
      }
      this.paint();
      const node = hits.length && this.nodeOf(hits[at]);
      if (node) this.center(node);
    };
    input.addEventListener('input', () => {
      const wanted = input.value.trim().toLowerCase();
      hits = [];
      this.data.ops.forEach((op, i) => {
        const text = [op.op, op.name, ...op.types].join(' ').toLowerCase();
        if (wanted !== '' && text.includes(wanted)) hits.push(i);
      });
      this.found = new Set(hits);
      at = 0;
      if (wanted === '') { output.textContent = ''; this.open(null, 0); } else { go(); }
    });
    input.addEventListener('keydown', e => {
      if (e.key !== 'Enter' || !hits.length) return;
      if (e.ctrlKey) { this.show(hits[at]); return; }
      at = (at + (e.shiftKey ? hits.length - 1 : 1)) % hits.length;
      go();
    });
    for (const button of tools.querySelectorAll('button')) {
      button.addEventListener('click', () => this.setZoom(
        button.dataset.zoom === 'fit' ? this.fit() : this.zoom * Number(button.dataset.zoom)));
    }
  }
}
for (const box of document.querySelectorAll('.side')) sides[box.dataset.side] = new Side(box);

// ---- Steps ----

const player = document.getElementById('player');
let current = -1, timer = null;
// Brings the graphs below the player into view.
const comeIntoView = () => {
  const map = document.querySelector('.map').getBoundingClientRect();
  if (map.bottom > innerHeight && map.top > innerHeight / 4) player.scrollIntoView({block: 'start'});
};
const stop = () => {
  clearInterval(timer);
  timer = null;
  player.querySelector('[data-go=play]').textContent = 'Play';
};
const goTo = number => {
  current = number;
  comeIntoView();
  const step = data.steps[number];
  for (const side of Object.keys(sides)) sides[side].step(step[side]);
  const rule = data.rules[step.rule];
  player.querySelector('p').textContent = 'Step ' + (number + 1) + ' of ' + data.steps.length +
    ': ' + (rule ? rule.words : step.rule) + (step.change ? ', ' + step.change + ' predicted' : '');
  player.querySelector('input').value = number + 1;
  const table = document.getElementById('steps');
  for (const row of table.querySelectorAll('tr')) {
    row.classList.toggle('stepped', row.dataset.step === String(number));
    if (row.dataset.step !== String(number)) continue;
    const box = table.parentElement;
    box.scrollTop = row.offsetTop - box.offsetTop - box.clientHeight / 2;
  }
};
if (player) {
  const last = data.steps.length - 1, slider = player.querySelector('input');
  slider.max = last + 1;
  slider.addEventListener('input', () => {
    stop();
    goTo(Math.max(0, Number(slider.value) - 1));
  });
  player.querySelector('p').textContent =
    last + 1 + (last ? ' steps.' : ' step.') + ' Play them to see where each took place.';
  player.addEventListener('click', e => {
    const go = e.target.dataset.go;
    if (!go) return;
    if (go !== 'play') {
      stop();
      goTo(Math.min(last, Math.max(0, current + (go === 'next' ? 1 : -1))));
    } else if (timer) {
      stop();
    } else {
      if (current >= last) current = -1;
      e.target.textContent = 'Pause';
      goTo(current + 1);
      timer = setInterval(() => current < last ? goTo(current + 1) : stop(), 900);
    }
  });
  for (const row of document.querySelectorAll('#steps tr[data-step]')) {
    row.addEventListener('click', e => {
      if (e.target.closest('a')) return;
      stop();
      player.scrollIntoView({block: 'start'});
      goTo(Number(row.dataset.step));
    });
  }
}

// ---- Plots: each is one stop of the Tab key; arrow keys go from mark to mark. ----

const describe = mark => {
  const {side} = mark.dataset, kernel = data[side].kernels[mark.dataset.kernel];
  return [kernel.name + ' ' + kernel.value, kernel.time + ', ' + kernel.share + ' of ' + side,
    kernel.work, kernel.roof ? 'roofline: ' + kernel.roof : ''].filter(Boolean).join('\n');
};
const place = mark => {
  const r = mark.getBoundingClientRect();
  hint.textContent = describe(mark);
  hint.hidden = false;
  const left = Math.min(Math.max(4, r.left + r.width / 2 - hint.offsetWidth / 2),
    document.documentElement.clientWidth - hint.offsetWidth - 4);
  const above = r.top - hint.offsetHeight - 6;
  hint.style.left = left + 'px';
  hint.style.top = (above > 0 ? above : r.bottom + 6) + 'px';
};
for (const svg of document.querySelectorAll('figure svg')) {
  const marks = [...svg.querySelectorAll('[data-kernel]')];
  if (!marks.length) continue;
  let active = -1;
  const activate = number => {
    if (marks[active]) marks[active].classList.remove('active');
    active = Math.min(marks.length - 1, Math.max(0, number));
    marks[active].classList.add('active');
    place(marks[active]);
  };
  const leave = () => {
    if (marks[active]) marks[active].classList.remove('active');
    hint.hidden = true;
  };
  svg.setAttribute('tabindex', '0');
  svg.addEventListener('focus', () => { if (svg.matches(':focus-visible')) activate(Math.max(0, active)); });
  svg.addEventListener('blur', leave);
  svg.addEventListener('keydown', e => {
    const step = {ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1}[e.key];
    if (step) { e.preventDefault(); activate(active + step); }
    if (e.key === 'Enter' && marks[active]) chooseMark(marks[active]);
  });
  const chooseMark = mark => showKernel(mark.dataset.side, Number(mark.dataset.kernel));
  svg.addEventListener('click', e => {
    const mark = e.target.closest('[data-kernel]');
    if (mark) chooseMark(mark);
  });
  svg.addEventListener('pointerover', e => {
    const mark = e.target.closest('[data-kernel]');
    if (mark) place(mark); else hint.hidden = true;
  });
  svg.addEventListener('pointerleave', () => { hint.hidden = true; });
}

addEventListener('scroll', () => {
  const mark = document.querySelector('svg:focus .active');
  if (mark && !hint.hidden) place(mark); else hint.hidden = true;
}, {passive: true});

// ---- Commands ----

if (navigator.clipboard) {
  for (const code of document.querySelectorAll('.command')) {
    const text = code.textContent;
    const button = make('button', {className: 'copy', textContent: 'copy', onclick: () =>
      navigator.clipboard.writeText(text).then(() => { button.textContent = 'copied'; }, () => {})});
    code.prepend(button);
  }
}
})();
