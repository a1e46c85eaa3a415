package blueprints

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/BurntSushi/toml"
	"github.com/cilium/ebpf/btf"
)

// CutOptions says what [CutBTF] keeps.
type CutOptions struct {
	Structures, Functions []string
	// What goes into the file beside the blob. Empty values are taken from the
	// BTF that is cut.
	Kernel, Version, Arch, Origin string
}

// CutBTF writes to out the part of b that the named structures and functions
// need, and to out.toml what it was cut from. Types that those only point at
// become forward declarations, and structures held by value keep their size and
// lose their members, so that a blob for a few dozen names takes a few KiB
// where the whole takes megabytes. A name that the kernel lacks is noted as
// absent, so that a later look for it is answered and not guessed.
func CutBTF(b *BTF, out string, opt CutOptions) (absent []string, err error) {
	c := cutter{roots: map[btf.Type]bool{}, full: map[btf.Type]btf.Type{}, small: map[btf.Type]btf.Type{}}
	info := cutInfo{Kernel: opt.Kernel, Version: opt.Version, Arch: opt.Arch, Origin: opt.Origin, OriginSHA256: b.SHA256}
	info.Kernel, info.Version, info.Arch = or(info.Kernel, b.Kernel), or(info.Version, b.Version), or(info.Arch, b.Arch)
	if !b.Evidence {
		info.Evidence = new(bool)
	}
	if info.Kernel == "" || info.Arch == "" {
		return nil, fmt.Errorf("%s does not say which kernel and architecture it is of; name them", b.Path)
	}

	var roots []btf.Type
	for _, name := range opt.Structures {
		t, err := b.find(name)
		if errors.Is(err, errNoType) {
			if b.notCut(bareName(name)) {
				return nil, fmt.Errorf("%s is cut itself, without %s", b.Path, name)
			}
			info.Absent = append(info.Absent, bareName(name))
			continue
		} else if err != nil {
			return nil, err
		}
		info.Structures = append(info.Structures, bareName(name))
		roots = append(roots, t)
		c.roots[t] = true
		if u := btf.UnderlyingType(t); u != nil {
			c.roots[u] = true
		}
	}
	for _, name := range opt.Functions {
		types, err := b.spec.AnyTypesByName(name)
		found := false
		for _, t := range types {
			if f, ok := t.(*btf.Func); ok {
				roots, found = append(roots, f), true
				break
			}
		}
		switch {
		case found:
			info.Functions = append(info.Functions, name)
		case err != nil && !errors.Is(err, btf.ErrNotFound):
			return nil, err
		case b.notCut(name):
			return nil, fmt.Errorf("%s is cut itself, without %s", b.Path, name)
		default:
			info.Absent = append(info.Absent, name)
		}
	}
	info.Structures, info.Functions, info.Absent = sorted(info.Structures), sorted(info.Functions), sorted(info.Absent)

	long, err := unsignedLong(b.spec) // tells the size of a pointer
	if err != nil {
		return nil, err
	}
	types := []btf.Type{c.cut(long, 0)}
	for _, t := range roots {
		types = append(types, c.cut(t, 0))
	}
	if c.err != nil {
		return nil, c.err
	}
	builder, err := btf.NewBuilder(types, nil)
	if err != nil {
		return nil, err
	}
	raw, err := builder.Marshal(nil, &btf.MarshalOptions{Order: binary.LittleEndian})
	if err != nil {
		return nil, err
	}
	var side bytes.Buffer
	fmt.Fprintf(&side, "# Beside %s: what it was cut from. Written by ringaudit blueprint cut.\n", filepath.Base(out))
	if err := toml.NewEncoder(&side).Encode(info); err != nil {
		return nil, err
	}
	if err := writeWhole(out, raw, 0o644); err != nil {
		return nil, err
	}
	return info.Absent, writeWhole(out+".toml", side.Bytes(), 0o644)
}

func or(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

func sorted(s []string) []string {
	slices.Sort(s)
	return slices.Compact(s)
}

// cutter copies types and leaves out what nobody asked for.
type cutter struct {
	roots       map[btf.Type]bool
	full, small map[btf.Type]btf.Type // copies, with members and without
	err         error
}

// cut copies a type as it is held by value.
func (c *cutter) cut(t btf.Type, depth int) btf.Type {
	if depth > maxDepth {
		c.err = fmt.Errorf("type %s nests without end", t.TypeName())
		return &btf.Void{}
	}
	if have, ok := c.full[t]; ok {
		return have
	}
	switch t := t.(type) {
	case *btf.Struct:
		n := &btf.Struct{Name: t.Name, Size: t.Size}
		c.full[t] = n
		n.Members = c.members(t, t.Members, depth)
		return n
	case *btf.Union:
		n := &btf.Union{Name: t.Name, Size: t.Size}
		c.full[t] = n
		n.Members = c.members(t, t.Members, depth)
		return n
	case *btf.Enum:
		n := &btf.Enum{Name: t.Name, Size: t.Size, Signed: t.Signed}
		if c.roots[t] {
			n.Values = t.Values
		}
		c.full[t] = n
		return n
	case *btf.Typedef:
		n := &btf.Typedef{Name: t.Name}
		c.full[t] = n
		n.Type = c.cut(t.Type, depth+1)
		return n
	case *btf.Pointer:
		n := &btf.Pointer{}
		c.full[t] = n
		n.Target = c.target(t.Target, depth+1)
		return n
	case *btf.Array:
		return &btf.Array{Index: c.cut(t.Index, depth+1), Type: c.cut(t.Type, depth+1), Nelems: t.Nelems}
	case *btf.Const:
		return &btf.Const{Type: c.cut(t.Type, depth+1)}
	case *btf.Volatile:
		return &btf.Volatile{Type: c.cut(t.Type, depth+1)}
	case *btf.Restrict:
		return &btf.Restrict{Type: c.cut(t.Type, depth+1)}
	case *btf.TypeTag:
		return c.cut(t.Type, depth+1)
	case *btf.Func:
		return &btf.Func{Name: t.Name, Linkage: t.Linkage, Type: c.cut(t.Type, depth+1)}
	case *btf.FuncProto:
		n := &btf.FuncProto{Return: c.cut(t.Return, depth+1)}
		for _, p := range t.Params {
			n.Params = append(n.Params, btf.FuncParam{Name: p.Name, Type: c.cut(p.Type, depth+1)})
		}
		return n
	default: // Int, Float, Fwd, Void: no parts
		n := btf.Copy(t)
		c.full[t] = n
		return n
	}
}

// members copies the members of what was asked for, or of an anonymous part of
// it; what else is held by value keeps its size alone.
func (c *cutter) members(t btf.Type, in []btf.Member, depth int) []btf.Member {
	if !c.roots[t] {
		return nil
	}
	var out []btf.Member
	for _, m := range in {
		if m.Name == "" {
			if u := btf.UnderlyingType(m.Type); u != nil {
				c.roots[u] = true
			}
		}
		n := m
		n.Type = c.cut(m.Type, depth+1)
		out = append(out, n)
	}
	return out
}

// target copies what a pointer points at: a name is enough.
func (c *cutter) target(t btf.Type, depth int) btf.Type {
	if c.roots[t] {
		return c.cut(t, depth)
	}
	if have, ok := c.small[t]; ok {
		return have
	}
	kind := btf.FwdStruct
	name := ""
	switch t := t.(type) {
	case *btf.Struct:
		name = t.Name
	case *btf.Union:
		name, kind = t.Name, btf.FwdUnion
	default:
		return c.cut(t, depth)
	}
	if name == "" {
		return c.cut(t, depth)
	}
	n := &btf.Fwd{Name: name, Kind: kind}
	c.small[t] = n
	return n
}
