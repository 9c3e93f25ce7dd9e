'use strict';
// What is wider than its place can be scrolled by keys.
const reach = () => {
  for (const box of document.querySelectorAll('.scroll')) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute('tabindex');
  }
};
addEventListener('resize', reach);
addEventListener('toggle', reach, true);
reach();
// A link to a section opens it.
const open = () => {
  const fold = document.getElementById(location.hash.slice(1))?.querySelector(':scope > details.fold');
  if (fold) fold.open = true;
};
addEventListener('hashchange', open);
open();
// Turn the samples of q-space: drag, or arrow keys while the picture has the focus.
for (const group of document.querySelectorAll('.q-space')) {
  const svg = group.ownerSVGElement;
  let yaw = 0.6, pitch = 0.35, from = null;
  const middle = [210, 232], radius = 165;
  const dots = [...group.querySelectorAll('[data-at],[data-axis]')].map((node) => ({
    node, at: (node.dataset.at || node.dataset.axis).split(' ').map(Number), isAxis: 'axis' in node.dataset,
  }));
  const place = ([x, y, z]) => {
    const across = x * Math.cos(yaw) - y * Math.sin(yaw), deep = x * Math.sin(yaw) + y * Math.cos(yaw);
    const up = z * Math.cos(pitch) + deep * Math.sin(pitch), near = z * Math.sin(pitch) - deep * Math.cos(pitch);
    return [middle[0] + radius * across, middle[1] - radius * up, near];
  };
  const draw = () => {
    const placed = dots.map((dot) => ({ ...dot, p: place(dot.at) })).sort((a, b) => a.p[2] - b.p[2]);
    for (const { node, p: [x, y, near], isAxis } of placed) {
      if (isAxis) {
        node.querySelector('path').setAttribute('d', `M${middle[0]} ${middle[1]}L${x} ${y}`);
        const text = node.querySelector('text');
        text.setAttribute('x', x);
        text.setAttribute('y', y - 4);
        continue;
      }
      const dot = node.querySelector('circle');
      dot.setAttribute('cx', x);
      dot.setAttribute('cy', y);
      node.setAttribute('opacity', 0.35 + 0.65 * Math.min(1, Math.max(0, 0.5 + 0.5 * near)));
      group.appendChild(node);
    }
  };
  const turn = (across, up) => {
    yaw += across;
    pitch = Math.min(1.57, Math.max(-1.57, pitch + up));
    draw();
  };
  svg.setAttribute('tabindex', '0');
  svg.classList.add('turnable');
  svg.addEventListener('pointerdown', (event) => {
    from = [event.clientX, event.clientY];
    svg.setPointerCapture(event.pointerId);
  });
  svg.addEventListener('pointermove', (event) => {
    if (!from) return;
    turn((event.clientX - from[0]) / 150, (event.clientY - from[1]) / 150);
    from = [event.clientX, event.clientY];
  });
  for (const end of ['pointerup', 'pointercancel']) svg.addEventListener(end, () => { from = null; });
  svg.addEventListener('keydown', (event) => {
    const step = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1] }[event.key];
    if (!step) return;
    event.preventDefault();
    turn(...step);
  });
}
// A rating is kept by the reader, as a file.
for (const form of document.querySelectorAll('form.rating')) {
  form.hidden = false;
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const told = new FormData(form);
    const rating = {
      page: document.title,
      rating: Number(told.get('rating')),
      artefacts: told.getAll('artefact'),
      comment: told.get('comment'),
      rated: new Date().toISOString(),
    };
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([JSON.stringify(rating, null, 2) + '\n'], { type: 'application/json' }));
    link.download = 'rating.json';
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
}
// Maps and streamlines: unpacked and drawn when they are asked for.
const start = document.getElementById('explore-start');
if (start) {
  const byId = (name) => document.getElementById(`explore-${name}`);
  const told = byId('told');
  const unpacked = async (node) => {
    const bytes = Uint8Array.from(atob(node.textContent), (c) => c.charCodeAt(0));
    return new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  };
  const parts = [...document.querySelectorAll('.scene-part')].map((node) => ({ node, ...node.dataset }));
  const fileOf = async (part, name) => {
    part.file ??= new File([await new Response(await unpacked(part.node)).blob()], name);
    return part.file;
  };
  const choice = (label, options, chosen) => {
    const box = document.createElement('label');
    box.append(`${label} `);
    const select = document.createElement('select');
    for (const [value, text] of options) select.add(new Option(text, value));
    select.addEventListener('change', () => chosen(select.value));
    box.append(select);
    byId('controls').append(box);
    return select;
  };
  const explore = async () => {
    start.disabled = true;
    if (!document.createElement('canvas').getContext('webgl2')) throw new Error('this browser has no WebGL 2');
    told.textContent = 'Unpacking …';
    const script = await new Response(await unpacked(document.getElementById('niivue'))).text();
    const NiiVue = new Function(`${script};return niivue.default;`)();
    byId('stage').hidden = false;
    const view = new NiiVue({ isDragDropEnabled: false, backgroundColor: [0.05, 0.06, 0.075, 1] });
    await view.attachToCanvas(byId('canvas'));
    view.sliceType = 3;
    // The 3-D picture beside the planes on a wide screen too.
    view.showRender = 1;
    // Lines show through the head, and on planes those within some mm.
    view.meshXRay = 0.4;
    view.meshThicknessOn2D = 5;
    view.isColorbarVisible = true;
    view.addEventListener('locationChange', (event) => { byId('place').textContent = event.detail.string || ''; });
    const maps = parts.filter((part) => part.kind === 'map' || part.kind === 'colours');
    const lines = parts.filter((part) => part.kind === 'lines'), regions = parts.filter((part) => part.kind === 'regions');
    // Which regions lie over the map, and how much of it they hide; 0 is their outline alone.
    let map = 0, over = -1, hides = 0.5;
    // The voxels of regions, a byte each behind a header of 352, that have another region or none beside them.
    const outlined = async (part, name) => {
      const bytes = new Uint8Array(await (await fileOf(part, name)).arrayBuffer());
      const header = new DataView(bytes.buffer), [nx, ny, nz] = [42, 44, 46].map((at) => header.getInt16(at, true));
      const labels = bytes.slice(352), shown = bytes.subarray(352);
      let v = 0;
      for (let z = 0; z < nz; z++) for (let y = 0; y < ny; y++) for (let x = 0; x < nx; x++, v++) {
        const label = labels[v], same = (is, step) => is && labels[v + step] === label;
        const inside = same(x > 0, -1) && same(x < nx - 1, 1) && same(y > 0, -nx) && same(y < ny - 1, nx)
          && (nz === 1 || (same(z > 0, -nx * ny) && same(z < nz - 1, nx * ny)));
        if (inside) shown[v] = 0;
      }
      return new File([bytes], name);
    };
    const drawn = async () => {
      const volumes = [];
      const add = async (part, name, more) => {
        if (!part) return;
        const url = part.kind === 'regions' && hides === 0 ? await outlined(part, name) : await fileOf(part, name);
        const volume = { url, name: `${part.name}.nii` };
        if (part.kind !== 'colours') Object.assign(volume, { calMin: Number(part.low), calMax: Number(part.high) });
        volumes.push(Object.assign(volume, more));
      };
      const part = maps[map];
      await add(part, `${map}.nii`, part?.kind === 'map' ? { colormap: 'gray' } : {});
      await add(regions[over], `r${over}.nii`, { colormap: 'random', opacity: part && hides ? hides : 1, isColorbarVisible: false });
      await view.loadVolumes(volumes);
    };
    // One after the other: what is loaded is gone where the next one begins.
    let last = Promise.resolve();
    const show = () => (last = last.then(drawn));
    if (maps.length) {
      choice('Map', maps.map((part, index) => [index, part.unit ? `${part.name}, ${part.unit}` : part.name]),
        (index) => { map = Number(index); return show(); });
    }
    if (regions.length) {
      choice('Regions', [[-1, 'none'], ...regions.map((part, index) => [index, part.name])], (index) => {
        over = Number(index);
        covers.disabled = over < 0 || !maps.length;
        return show();
      });
      const covers = choice('covering', [[0, 'their outline'], [0.25, 'a quarter'], [0.5, 'half'], [0.75, 'three quarters'], [1, 'all']], (part) => {
        hides = Number(part);
        return show();
      });
      covers.value = hides;
      covers.disabled = true;
      if (!maps.length) over = 0;
    }
    if (maps.length || over === 0) await show();
    choice('View', [[3, 'three planes and 3-D'], [4, '3-D'], [0, 'axial'], [1, 'coronal'], [2, 'sagittal']],
      (type) => { view.sliceType = Number(type); });
    const ways = [['', 'direction'], ['global', 'direction from end to end']];
    let coloured = null;
    const load = async (index) => {
      const part = lines[index];
      const meshes = part ? [{ url: await fileOf(part, `${index}.trx`), name: `${index}.trx` }] : [];
      await view.loadMeshes(meshes);
      if (part) await view.setTractOptions(0, { fiberRadius: 0.3, colorBy: '' });
      // What these lines can be coloured by, in place of what the last ones could.
      const names = part?.colours ? part.colours.split(',') : [];
      coloured.length = 0;
      for (const [value, text] of [...ways, ...names.map((name) => [`dps:${name}`, name])]) coloured.add(new Option(text, value));
      coloured.disabled = !part;
    };
    if (lines.length) {
      choice('Lines', [...lines.map((part, index) => [index, part.name]), [-1, 'none']], load);
      coloured = choice('Coloured by', ways, (colorBy) => view.setTractOptions(0, { colorBy }));
      await load(0);
    }
    told.textContent = '';
    start.hidden = true;
    byId('stage').dataset.drawn = 'yes';
  };
  start.hidden = false;
  start.addEventListener('click', () => explore().catch((error) => {
    start.disabled = false;
    told.textContent = `It cannot be drawn here: ${error.message}. The pictures above show the same.`;
  }));
}
