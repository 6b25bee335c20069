// Opens the page: all of its parts, and what happens when its surroundings change.
const drawAll = () => { applyTheme(); parts.forEach(part => part.draw()); };
readAddress();
applyTheme();
$('theme').addEventListener('click', () => { toggleTheme(); writeAddress(); drawAll(); });
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAll);
matchMedia('(max-width: 640px)').addEventListener('change', drawAll);
addEventListener('hashchange', () => { parts.forEach(part => part.read()); drawAll(); });
preparePrint(drawAll);
parts.forEach(part => part.open());
drawWaiting();
root.dataset.ready = '1'; // all that can be chosen is there, and what is in view is drawn
performance.mark('ready');
