export default {
  // Templates are built with createElement, not innerHTML: Svelte then needs no Trusted Types
  // policy of its own, and the page's one policy stays `shipmate`.
  compilerOptions: { fragments: "tree", runes: true },
};
