// Package blueprints keeps documents about the kernel from going stale.
//
// A blueprint is one mechanism in nine sections of Markdown, NAME.md, with the
// references behind its sentences in NAME.refs.toml. Six sections are written
// by a person. Sections 2 (structures) and 7 (functions) are read from BTF, the
// type information that a kernel carries of itself, and section 5 (observable
// behaviour) from evidence: whatever an audit can read.
//
// A generated block stands between two markers. Its first lines say where it
// came from, and a seal, a hash of the block, says whether a hand has touched
// it since:
//
//	<!-- ringaudit:begin section=5 seal=0123456789abcdef -->
//	<!-- ringaudit:source kind=evidence path=… sha256=… kernel=… arch=… evidence=true -->
//	…
//	<!-- ringaudit:end section=5 -->
//
// [Generate] fills the blocks, [Check] holds a document against its seals, its
// sources, its form and its citations, and [Render] makes pages of it.
//
// Documents in the dialect of tamnd/linux-kernel-internals (front matter
// between "---", bpc: markers, headings with a section sign) are read and
// checked as they are; see [DialectBPC].
package blueprints
