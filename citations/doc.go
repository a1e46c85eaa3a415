// Package citations keeps what a document says about kernel source true.
//
// A document NAME.md carries markers, [NAME-R12] for a reference and [NAME-A3]
// for an assertion. Its records stand in NAME.refs.toml, written by hand. A
// reference names a file and a short piece of its text, the anchor; it proves
// that the text exists, and where. An assertion states something about all the
// text in a scope (only-setter, count, absent, order, calls, guarded-by,
// format): what no single line can prove. [Check] resolves both against kernel
// trees in several versions at once, and NAME.lock.toml, written by the tool,
// keeps what was found in each.
//
// Matching needs no C front end: white space is folded, comments are told from
// code, and braces are tracked to name the function, structure or macro around
// a line.
//
// Nothing here writes a file but the cache of unpacked archives
// ([TreeOptions].Cache); locks and rewritten files are returned as bytes.
package citations
