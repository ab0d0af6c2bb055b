// The report of an optimization: its data are in #data. All numbers come from there as texts.
(() => {
const source = document.getElementById('data');
if (!source) return;
const data = JSON.parse(source.textContent);
const hint = document.getElementById('hint'), sides = {};
const panel = new Panel(data, sides, number => goTo(number));
for (const shown of document.querySelectorAll('.script, .tools, #player')) shown.hidden = false;
for (const box of document.querySelectorAll('.side')) {
  sides[box.dataset.side] = new Side(box, panel);
}

// ---- Steps ----

const player = document.getElementById('player');
let current = -1, timer = null;
// Brings the graphs below the player into view.
const comeIntoView = () => {
  const map = document.querySelector('.map').getBoundingClientRect();
  const isLow = map.bottom > innerHeight && map.top > innerHeight / 4;
  if (isLow) player.scrollIntoView({block: 'start'});
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
  svg.addEventListener('focus', () => {
    if (svg.matches(':focus-visible')) activate(Math.max(0, active));
  });
  svg.addEventListener('blur', leave);
  svg.addEventListener('keydown', e => {
    const step = {ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1}[e.key];
    if (step) { e.preventDefault(); activate(active + step); }
    if (e.key === 'Enter' && marks[active]) chooseMark(marks[active]);
  });
  const chooseMark = mark => panel.showKernel(mark.dataset.side, Number(mark.dataset.kernel));
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
    const button = make('button', {className: 'copy', textContent: 'copy'});
    const done = () => { button.textContent = 'copied'; };
    button.onclick = () => navigator.clipboard.writeText(text).then(done, () => {});
    code.prepend(button);
  }
}
})();
