package faultinject

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
)

// Mutator damages inputs, in the same way for the same seed.
type Mutator struct{ random *rand.Rand }

// NewMutator returns the mutator of mutant n of a kind of input: each mutant can be made separately.
func NewMutator(kind string, n uint64) *Mutator {
	seed := uint64(14695981039346656037) // FNV-1a
	for _, b := range []byte(kind) {
		seed = (seed ^ uint64(b)) * 1099511628211
	}
	return &Mutator{rand.New(rand.NewPCG(seed, n))}
}

// Parts of a text that Text replaces.
var (
	numbers = regexp.MustCompile(`-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?`)
	words   = regexp.MustCompile(`[\pL_][\pL0-9_]*`)
	values  = regexp.MustCompile(`[^\s,:\[\]{}]+`)
)

// extremes replace numbers: ends of ranges, and texts that are no numbers.
var extremes = []string{"0", "-1", "1", "2", "255", "256", "65535", "65536", "1000000", "2147483647", "2147483648",
	"4294967296", "9223372036854775807", "9223372036854775808", "18446744073709551615", "18446744073709551616",
	"1e308", "1e-308", "1e999", "-0", "0.1", "0x10", "1e18", "NaN", "Inf", "", "1_000", "00", "1" +
		strings.Repeat("0", 400)}

// tokens have a meaning for one of the readers, or for programs that show their words.
var tokens = []string{"&a ", "*a", "<<: ", "!!binary ", "|\n", ">\n", "? ", "- ", "---\n", "...\n", "{", "}", "[",
	"]", ": ", "#",
	"'", "\"", "\\", "\"\\e\"", "$", "$rate", "*", "..", "../../x", "/dev/zero", "%", "~", "null", "\t", "\r",
	"\x00", "\x1b[2J",
	"\u202e", "\ufeff", "\xff", "=1+1", "<b>", "s->b", "->", ",", "\n\n", " ", "{a: {a: {a: {a: {a: 1}}}}}", "PAR1",
	"ns", "Gbps",
	"packets", "KB", strings.Repeat("[", 60), strings.Repeat("x", 3000)}

// Text returns a copy of a text with one to four damages.
func (m *Mutator) Text(data []byte) []byte {
	data = slices.Clone(data)
	for range m.countDamages() {
		switch m.random.IntN(12) {
		case 0, 1, 2:
			data = m.replaceMatch(data, numbers, func(string) string { return m.pick(extremes) })
		case 3:
			other := values.FindAllString(string(data), -1)
			data = m.replaceMatch(data, values, func(old string) string {
				if len(other) == 0 {
					return old
				}
				return m.pick(other)
			})
		case 4:
			data = m.replaceMatch(data, words, func(w string) string { return m.misspell(w) })
		case 5:
			data = m.replaceMatch(data, values, func(string) string { return "" })
		case 6:
			data = m.insertAt(data, []byte(m.pick(tokens)))
		case 7:
			data = m.mutateLines(data)
		case 8:
			data = m.replaceMatch(data, numbers, func(old string) string {
				return old +
					m.pick([]string{"0", "000000", "e9", "9999999999"})
			})
		default:
			data = m.mutateBytes(data)
		}
	}
	return data
}

// mutateBinary returns a copy of a file of fields, lengths and blocks with one to four damages.
func (m *Mutator) mutateBinary(data []byte) []byte {
	data = slices.Clone(data)
	for range m.countDamages() {
		if len(data) < 8 || m.random.IntN(2) == 0 {
			data = m.mutateBytes(data)
			continue
		}
		at := m.random.IntN(len(data) - 7)
		extreme := []uint64{0, 1, 7, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff,
			1 << 40, 1<<63 - 1,
			1 << 63, 1<<64 - 1}[m.random.IntN(16)]
		switch m.random.IntN(4) {
		case 0:
			data[at] = byte(extreme)
		case 1:
			binary.LittleEndian.PutUint16(data[at:], uint16(extreme))
		case 2:
			binary.LittleEndian.PutUint32(data[at:], uint32(extreme))
		default:
			binary.LittleEndian.PutUint64(data[at:], extreme)
		}
	}
	return data
}

// countDamages returns the number of a mutant's damages: mostly one, which leaves more of the input to read.
func (m *Mutator) countDamages() int { return max(1, m.random.IntN(7)-2) }

// pick returns a random one of the choices.
func (m *Mutator) pick(choices []string) string { return choices[m.random.IntN(len(choices))] }

// replaceMatch changes a random match of a pattern. It returns data as it is if the pattern has no match.
func (m *Mutator) replaceMatch(data []byte, pattern *regexp.Regexp, change func(string) string) []byte {
	found := pattern.FindAllIndex(data, -1)
	if len(found) == 0 {
		return data
	}
	at := found[m.random.IntN(len(found))]
	return slices.Concat(data[:at[0]], []byte(change(string(data[at[0]:at[1]]))), data[at[1]:])
}

// misspell changes a random letter of a word.
func (m *Mutator) misspell(w string) string {
	r := []rune(w)
	i := m.random.IntN(len(r))
	switch m.random.IntN(3) {
	case 0:
		return string(slices.Delete(r, i, i+1))
	case 1:
		return string(slices.Insert(r, i, r[i]))
	}
	r[i] = 'a' + rune(m.random.IntN(26))
	return string(r)
}

// insertAt returns data with further bytes at a random position.
func (m *Mutator) insertAt(data, inserted []byte) []byte {
	at := m.random.IntN(len(data) + 1)
	return slices.Concat(data[:at], inserted, data[at:])
}

// mutateLines removes, repeats or moves lines.
func (m *Mutator) mutateLines(data []byte) []byte {
	all := bytes.SplitAfter(data, []byte("\n"))
	from := m.random.IntN(len(all))
	to := min(len(all), from+1+m.random.IntN(3))
	part := bytes.Join(all[from:to], nil)
	before, after := bytes.Join(all[:from], nil), bytes.Join(all[to:], nil)
	switch m.random.IntN(4) {
	case 0:
		return slices.Concat(before, after)
	case 1:
		return slices.Concat(before, bytes.Repeat(part, 2+m.random.IntN(60)), after)
	case 2:
		return slices.Concat(after, part, before)
	}
	return slices.Concat(part, before, after)
}

// mutateBytes damages a random place of a file: a bit, a byte, a range, or all bytes that follow.
func (m *Mutator) mutateBytes(data []byte) []byte {
	if len(data) == 0 {
		return []byte{byte(m.random.IntN(256))}
	}
	from := m.random.IntN(len(data))
	to := min(len(data), from+1+m.random.IntN(40))
	switch m.random.IntN(6) {
	case 0:
		return data[:from]
	case 1:
		return slices.Concat(data[:from], data[to:])
	case 2:
		return slices.Concat(data[:to], data[from:to], data[to:])
	case 3:
		return slices.Concat(data[:from], bytes.Repeat(data[from:to], 1+m.random.IntN(200)), data[to:])
	case 4:
		data[from] = byte(m.random.IntN(256))
	default:
		data[from] ^= 1 << m.random.IntN(8)
	}
	return data
}
