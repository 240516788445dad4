package switchfile

import (
	"slices"

	"weir/core/packet"
	"weir/core/unit"
	"weir/internal/document"
)

// LineKeys lists the keys of a framing without a name: how an operator's line changes a frame's size.
var LineKeys = &document.Table{KeyNoun: "framing key", Doc: "size of a frame on an operator's line",
	Keys: []document.Key{
		{Name: "overhead", Form: document.Value("size"), Doc: "bytes in place of the Ethernet header of 14 bytes",
			Required: true,
			Example:  "overhead: 18 B"},
		{Name: "mpu", Form: document.Value("size"), Doc: "minimum size of a frame, including the overhead",
			Default: "0 B", Source: "tc-cake(8)"},
		{Name: "cells", Form: document.OneOf(packet.CellNames[:]...), Doc: "`atm`: cells of 53 bytes with 48 bytes of " +
			"the frame; `ptm`: one additional byte per 64 bytes", Default: packet.Whole.String(), Source: "tc-cake(8)"},
	}}

// ReadFraming reads a framing: one of the given names, or a mapping with the keys of LineKeys, into which it fills the
// defaults. It notes errors in r. After one the result is not valid.
func ReadFraming(r *document.Reader, t *document.Node, names []string) packet.Framing {
	if t.Kind != document.Mapping {
		f, _ := packet.FramingByName(r.ReadWord(t, "framing", names))
		return f
	}
	m, ok := r.ReadMap(t, LineKeys)
	overhead := m.Get("overhead")
	if overhead == nil {
		m.FailMissing("overhead", "a framing has no overhead")
		ok = false
	}
	if !ok {
		return packet.Framing{}
	}
	size := func(t *document.Node) int32 {
		n, ok := document.ReadValid(r, t, unit.ParseBytes)
		if ok && (n < 0 || n > packet.MaxOverhead) {
			r.Fail(t.Position, "0 B … 256 B", "%s is not possible here", t.Text)
		}
		return int32(n)
	}
	cells := slices.Index(packet.CellNames[:], r.ReadWord(m.GetDefault("cells"), "value of cells", packet.CellNames[:]))
	return packet.LineFraming(size(overhead), size(m.GetDefault("mpu")), packet.Cells(max(cells, 0)))
}
