'use strict';
// A click on a row or on a box marks the operators of the row in each drawing, and the row.
const focus = [];
const pick = (part, from) => {
  for (const old of document.querySelectorAll('.picked')) old.classList.remove('picked');
  const row = document.getElementById('part-' + part);
  row.classList.add('picked');
  if (from) row.scrollIntoView({block: 'nearest'});
  for (const node of document.querySelectorAll('.part_' + part)) node.classList.add('picked');
  for (const show of focus) show(part, from);
};
for (const row of document.querySelectorAll('tr[data-part]')) {
  row.addEventListener('click', () => pick(row.dataset.part, null));
}
// A search in a table hides the other rows.
for (const search of document.querySelectorAll('input[data-filter]')) {
  search.addEventListener('input', () => {
    const wanted = search.value.trim().toLowerCase();
    for (const row of document.getElementById(search.dataset.filter).rows) {
      row.hidden = row.querySelector('td') !== null && !row.textContent.toLowerCase().includes(wanted);
    }
  });
}
// Each drawing: drag moves, the wheel enlarges, a search marks boxes and shows the first.
for (const box of document.querySelectorAll('.graph')) {
  const svg = box.querySelector('svg');
  if (!svg) continue;
  const all = svg.viewBox.baseVal;
  const home = {x: all.x, y: all.y, width: all.width, height: all.height};
  let view = {...home}, drag = null;
  const show = () => svg.setAttribute('viewBox', [view.x, view.y, view.width, view.height].join(' '));
  const scale = () => {
    const r = box.getBoundingClientRect();
    return Math.max(view.width / r.width, view.height / r.height);
  };
  const zoom = (factor, fx, fy) => {
    view.x += view.width * fx * (1 - factor);
    view.y += view.height * fy * (1 - factor);
    view.width *= factor;
    view.height *= factor;
    show();
  };
  box.addEventListener('wheel', e => {
    e.preventDefault();
    const r = box.getBoundingClientRect();
    zoom(e.deltaY < 0 ? 0.8 : 1.25, (e.clientX - r.left) / r.width, (e.clientY - r.top) / r.height);
  }, {passive: false});
  box.addEventListener('pointerdown', e => {
    drag = {x: e.clientX, y: e.clientY, startX: e.clientX, startY: e.clientY};
    box.setPointerCapture(e.pointerId);
  });
  box.addEventListener('pointermove', e => {
    if (!drag) return;
    view.x -= (e.clientX - drag.x) * scale();
    view.y -= (e.clientY - drag.y) * scale();
    drag = {...drag, x: e.clientX, y: e.clientY};
    show();
  });
  box.addEventListener('pointerup', e => {
    // The captured pointer hides which box is below it.
    const below = document.elementFromPoint(e.clientX, e.clientY);
    const node = below && below.closest('g.node');
    const part = node && /\bpart_(\d+)/.exec(node.getAttribute('class'));
    const moved = drag && Math.hypot(e.clientX - drag.startX, e.clientY - drag.startY) > 3;
    if (part && drag && !moved) pick(part[1], box);
    drag = null;
  });
  box.addEventListener('dblclick', () => { view = {...home}; show(); });
  const center = node => {
    const b = node.getBBox(), m = node.getCTM().multiply(svg.getCTM().inverse());
    const x = b.x + b.width / 2, y = b.y + b.height / 2;
    view.width = Math.min(home.width, 900);
    view.height = Math.min(home.height, 700);
    view.x = m.a * x + m.c * y + m.e - view.width / 2;
    view.y = m.b * x + m.d * y + m.f - view.height / 2;
    show();
  };
  focus.push((part, from) => {
    const node = svg.querySelector('.part_' + part);
    if (node && from !== box) center(node);
  });
  const search = document.getElementById(box.dataset.search);
  if (!search) continue;
  const count = document.getElementById(box.dataset.search + '-count');
  search.addEventListener('input', () => {
    const wanted = search.value.trim().toLowerCase();
    let first = null, found = 0;
    for (const node of svg.querySelectorAll('g.node')) {
      const title = node.querySelector('a') ? node.querySelector('a').getAttribute('xlink:title') : '';
      const hit = wanted !== '' && (node.textContent + ' ' + title).toLowerCase().includes(wanted);
      node.classList.toggle('found', hit);
      if (hit) { ++found; first = first || node; }
    }
    count.textContent = wanted === '' ? '' : found + ' found';
    if (first) center(first);
  });
}
