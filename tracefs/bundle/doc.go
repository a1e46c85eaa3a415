// Package bundle keeps evidence: the files of one or more moments of a tracefs,
// raw pages and ring logs beside them, and a manifest that says what is there
// (with the SHA-256 of each file), from which kernel, and what was not opened
// and why.
//
// A bundle is a folder, or the same folder as .tar or .tar.zst; what it is
// follows from its content, never from its name. [Create] writes one whole or
// not at all, and the same content gives the same bytes. [Open] verifies it and
// gives an [io/fs.FS]; a file that was changed, is missing or was added is
// named in [Reader.Problems], and a changed or added one is not handed out.
//
// An archive that somebody made with tar (of a copied tracefs, say) has no
// manifest: it opens as well, as [KindArchive], unverified.
//
// Input is untrusted. Paths that leave the archive, links, devices and sparse
// files are refused by name, sizes and numbers of files are bounded by
// [Limits], and memory does not grow with the size of the input: what does not
// fit a small buffer is unpacked to one temporary file.
package bundle
