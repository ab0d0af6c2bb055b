// One of the two graphs of the report: its drawing, opened blocks, marks and search.

class Side {
  // `box`: the element .side; `panel` tells of an operator that is chosen.
  constructor(box, panel) {
    this.name = box.dataset.side;
    this.panel = panel;
    this.data = panel.data[this.name];
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
      const box = block >= 0 ? `[data-block="${block}"]` : `[data-op="${op}"]`;
      return this.sheet().querySelector(box);
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
  // Opens the block that has the operator, or shows the whole graph if none has.
  openAt(op) {
    const block = this.blockOf(op);
    if (block < 0) { this.open(null, 0); return; }
    const {first, period} = this.data.blocks[block];
    this.open(block, Math.floor((op - first) / period));
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
        const text = labelOf(this.data.ops[op]) + ' ' + this.data.ops[op].types[0];
        const button = link(text, () => {});
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
    this.openAt(op);
    for (const side of Object.values(this.panel.sides)) side.pick(side === this ? op : null);
    this.panel.showOp(this.name, op);
    const node = this.nodeOf(op);
    if (node) this.center(node);
  }
  pick(op) { this.picked = op; this.paint(); }
  // Marks where a step took place.
  step(ops) {
    this.stepped = ops;
    if (!this.overview) return;
    if (!ops.length) { this.paint(); return; }
    this.openAt(ops[0]);
    const node = this.nodeOf(ops[0]);
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
      if (hits.length) this.openAt(hits[at]); else this.paint();
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
