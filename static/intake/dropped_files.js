// Lists the files that were dropped or chosen, with their paths: folders are read, hidden files and files of the operating
// system are left out.

/** @typedef {{ path: string, file: File }} SourceFile */

/**
 * The files that were dropped or chosen, the name of the one folder that holds them all if there is one, and how many
 * hidden files were left out.
 * @typedef {{ files: SourceFile[], folder: string, hidden: number }} Selection
 */

const LITTER = new Set(["thumbs.db", "ehthumbs.db", "desktop.ini", "__macosx", "$recycle.bin", "icon\r"]);

/**
 * Return whether nobody means to send the file with this path: it is hidden, or created by an operating system.
 * @param {string} path
 */
function isHidden(path) {
  return path.split("/").some((name) => name.startsWith(".") || LITTER.has(name.toLowerCase()));
}

/**
 * Return the dropped files. The entries must be read at once: the browser drops them when the event is over.
 * @param {DataTransfer} transfer
 */
export async function readDrop(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  if (!entries.length) return select([...transfer.files].map((file) => ({ path: file.name, file })));
  /** @type {SourceFile[]} */
  const files = [];
  const skipped = await Promise.all(entries.map((entry) => walk(entry, files)));
  return select(files, skipped.reduce((sum, count) => sum + count, 0));
}

/**
 * Return the files chosen in a file picker, for files or for a folder.
 * @param {FileList} list
 */
export function readPicker(list) {
  return select([...list].map((file) => ({ path: file.webkitRelativePath || file.name, file })));
}

/**
 * Collect the files of an entry and of all folders within; return how many were hidden.
 * @param {FileSystemEntry} entry
 * @param {SourceFile[]} files
 * @returns {Promise<number>}
 */
async function walk(entry, files) {
  if (isHidden(entry.name)) return 1;
  if (isFile(entry)) {
    files.push({ path: entry.fullPath.replace(/^\/+/, ""), file: await fileOf(entry) });
    return 0;
  }
  let hidden = 0;
  const reader = /** @type {FileSystemDirectoryEntry} */ (entry).createReader();
  for (;;) {
    const batch = await nextEntries(reader); // browsers return a hundred at a time
    if (!batch.length) return hidden;
    for (const count of await Promise.all(batch.map((inner) => walk(inner, files)))) hidden += count;
  }
}

/**
 * @param {FileSystemEntry} entry
 * @returns {entry is FileSystemFileEntry}
 */
function isFile(entry) {
  return entry.isFile;
}

/**
 * @param {FileSystemFileEntry} entry
 * @returns {Promise<File>}
 */
function fileOf(entry) {
  return new Promise((resolve, reject) => entry.file(resolve, reject));
}

/**
 * @param {FileSystemDirectoryReader} reader
 * @returns {Promise<FileSystemEntry[]>}
 */
function nextEntries(reader) {
  return new Promise((resolve, reject) => reader.readEntries(resolve, reject));
}

/**
 * Leave hidden files out, and find the one folder that holds all others.
 * @param {SourceFile[]} all
 * @param {number} [skipped] hidden ones that were left out already
 * @returns {Selection}
 */
function select(all, skipped = 0) {
  const files = all.filter(({ path }) => !isHidden(path)).sort((a, b) => (a.path < b.path ? -1 : 1));
  const tops = new Set(files.map(({ path }) => (path.includes("/") ? path.slice(0, path.indexOf("/")) : "")));
  const [top = ""] = tops;
  return { files, folder: tops.size === 1 ? top : "", hidden: skipped + all.length - files.length };
}

/**
 * Return the files with the paths that they get in an import. The one folder that holds them all is left out of the paths
 * unless the import has other files already, which it keeps apart then. The same folder dropped again gets the same paths.
 * @param {Selection} selection
 * @param {ReadonlyMap<string, unknown>} present what the import has already, by path
 * @returns {SourceFile[]}
 */
export function pathsInImport({ files, folder }, present) {
  if (!folder) return files;
  const inner = files.map(({ path, file }) => ({ path: path.slice(folder.length + 1), file }));
  return !present.size || inner.some(({ path }) => present.has(path)) ? inner : files;
}
