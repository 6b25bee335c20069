// The catalogue: devices by what they are, do and cost; one that is picked becomes that of the volume.
const catalogue = { key: '' };

function buildCatalogue() {
  const figure = (head, key, text) => ({ head, text: one => (known(one[key]) ? text(one[key]) : '–'), value: one => one[key] });
  addSortable('devices-found', 'catalogue-table', {
    label: 'Devices of the catalogue',
    columns: [
      { head: 'Device', text: one => one.id, value: one => one.id, word: true },
      { head: 'Kind', text: one => [kindOf(one), one.interface].filter(known).join(', '), value: kindOf, word: true },
      figure('Capacity', 'capacity_bytes', bytes),
      figure('8 KiB read', 'random_read_ns', ns => duration(ns / 1e3)),
      figure('Reads/s', 'random_reads_per_s', rate => whole.format(rate)),
      figure('Price (USD)', 'price', price => whole.format(price)),
      { head: 'Priced in', text: one => priced(one) ?? '–', value: priced, word: true },
    ],
    choose: one => { change(catalogue.key, one.id); $('catalogue').close(); },
    isChosen: one => controls.list.some(({ key, value }) => key === catalogue.key && value === one.id),
    searched: one => `${one.id} ${one.name} ${specification(one.id)}`,
  });
  $('devices-found-find').parentNode.after($('of-price'));
  Object.assign(tables['devices-found'], { most: explored.devices.length, all: explored.devices.length });
  $('most-price').addEventListener('input', fillCatalogue);
  fillCatalogue();
}

// A volume of a cloud has a date of its prices, but none that is one number.
const priced = one => (known(one.price) ? one.price_date : null);

function fillCatalogue() {
  const most = $('most-price').value;
  fillSortable('devices-found', explored.devices.filter(one => most === '' || (known(one.price) && one.price <= Number(most))));
}

function openCatalogue(key) {
  catalogue.key = key;
  fillCatalogue();
  $('catalogue').showModal();
  $('devices-found-find').focus();
}
