  // Chunks: scripts that call explorerChunk with a name and packed JSON.
  const KEPT = 24;
  const waiting = new Map();
  const loaded = new Map();

  async function unpacked(text) {
    const bytes = Uint8Array.from(atob(text.trim()), (mark) => mark.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  }

  globalThis.explorerChunk = (name, text) => waiting.get(name)?.(text);

  function chunk(folder, name) {
    if (!loaded.has(name)) {
      loaded.set(name, new Promise((resolve, reject) => {
        const script = document.createElement("script");
        const failed = () => reject(new Error(`${folder}/${name}.js is not beside this page, or is damaged.`));
        waiting.set(name, (text) => unpacked(text).then(resolve, failed));
        script.onload = () => { script.remove(); waiting.delete(name); };
        script.onerror = () => { script.remove(); loaded.delete(name); failed(); };
        script.src = `${folder}/${name}.js`;
        document.head.append(script);
      }));
      // The oldest go: a long look through many runs must not fill the memory.
      for (const old of [...loaded.keys()].slice(0, -KEPT)) loaded.delete(old);
    }
    return loaded.get(name);
  }
