// Opens the page: all of its parts, and what happens when its surroundings change.
const drawAll = () => { applyTheme(); return Promise.all(parts.map(part => part.draw())); };
readAddress();
applyTheme();
$('theme').addEventListener('click', () => { toggleTheme(); writeAddress(); drawAll(); });
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAll);
matchMedia('(max-width: 640px)').addEventListener('change', drawAll);
addEventListener('hashchange', () => { parts.forEach(part => part.read()); drawAll(); });
preparePrint(drawAll);
Promise.all(parts.map(part => part.open())).then(() => { root.dataset.ready = '1'; });
