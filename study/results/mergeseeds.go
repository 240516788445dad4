package results

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"weir/internal/document"
	"weir/study/experiment"
)

// seeded is a resolved spec without what says which seeds it has.
type seeded struct {
	part  *part
	rest  string
	first uint64
	n     uint64 // 0: the data choose how many there are
}

// end is the seed after the last.
func (s *seeded) end() uint64 { return s.first + s.n }

// repeatKey is the key of a resolved spec that says how many seeds a point has in a world.
func repeatKey(text []byte, world string) string {
	if world == experiment.Lab && bytes.Contains(text, []byte("\nlab_repeat: ")) {
		return "lab_repeat"
	}
	return "repeat"
}

// seedsOf takes the seeds out of a resolved spec.
func seedsOf(p *part) *seeded {
	s := &seeded{part: p}
	var rest strings.Builder
	key := repeatKey(p.spec, p.world)
	for line := range strings.Lines(string(p.spec)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		number, err := strconv.ParseUint(value, 10, 64)
		switch {
		case err == nil && name == "seed":
			s.first = number
		case err == nil && name == key:
			s.n = number
		default:
			rest.WriteString(line)
		}
	}
	s.rest = rest.String()
	return s
}

// withSeeds is a resolved spec with other seeds.
func withSeeds(p *part, first, n uint64) []byte {
	var out strings.Builder
	key := repeatKey(p.spec, p.world)
	for line := range strings.Lines(string(p.spec)) {
		switch name, _, _ := strings.Cut(line, ": "); name {
		case "seed":
			line = fmt.Sprintf("seed: %d\n", first)
		case key:
			line = fmt.Sprintf("%s: %d\n", key, n)
		}
		out.WriteString(line)
	}
	return []byte(out.String())
}

// together makes one spec of those of the parts, and says what it is made of: of one that is the same in all, or of
// all that differ in their seeds only, if these are one range.
func together(parts []*part) (text []byte, from *originFile, base *part, err error) {
	base = parts[0]
	one := true
	for _, p := range parts {
		one = one && bytes.Equal(p.spec, base.spec)
	}
	if one {
		base = leastOrigin(parts)
		from, err = openOrigin(base.dir)
		return base.spec, from, base, err
	}
	var all []*seeded
	for _, p := range parts {
		all = append(all, seedsOf(p))
	}
	for _, s := range all {
		if s.rest != all[0].rest || s.n == 0 || s.end() < s.first {
			return nil, nil, nil, otherExperiment(s.part, base)
		}
	}
	slices.SortStableFunc(all, func(a, b *seeded) int {
		return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.n, b.n))
	})
	first, end := all[0].first, all[0].end()
	for k, s := range all {
		if s.first > end {
			return nil, nil, nil, document.InputErrors{{File: filepath.Join(s.part.dir, "spec.yaml"), Line: 1, Column: 1,
				Msg: fmt.Sprintf("its seeds begin with %d, and those of %s end with %d: an experiment has all seeds from its "+
					"first to its last", s.first, filepath.Join(all[k-1].part.dir, "spec.yaml"), end-1),
				Allowed: "also folders with the seeds between"}}
		}
		end = max(end, s.end())
	}
	var firsts []*part
	for _, s := range all {
		if s.first == first {
			firsts = append(firsts, s.part)
		}
	}
	base = leastOrigin(firsts)
	if from, err = openOrigin(base.dir); err != nil {
		return nil, nil, nil, err
	}
	from.reseed(repeatKey(base.spec, base.world), end-first)
	return withSeeds(base, first, end-first), from, base, nil
}

// leastOrigin is the part whose origin.json comes first in the order of bytes, so that the order of folders changes
// nothing: all of them are right.
func leastOrigin(parts []*part) *part {
	return slices.MinFunc(parts, func(a, b *part) int {
		return cmp.Or(cmp.Compare(min(len(b.origin), 1), min(len(a.origin), 1)), bytes.Compare(a.origin, b.origin))
	})
}

// otherExperiment says in which line a part's spec is not that of another one.
func otherExperiment(p, base *part) error {
	own, other := seedsOf(p), seedsOf(base)
	key := repeatKey(p.spec, p.world) + ": "
	mayDiffer := func(line string) bool { // unless nothing else does: then the seeds are what is wrong
		return own.rest != other.rest && (strings.HasPrefix(line, "seed: ") || own.n > 0 && strings.HasPrefix(line, key))
	}
	a, b := strings.Split(string(p.spec), "\n"), strings.Split(string(base.spec), "\n")
	line := 0
	for line < min(len(a), len(b))-1 && (a[line] == b[line] || mayDiffer(a[line]) && mayDiffer(b[line])) {
		line++
	}
	excerpt, _ := document.ExcerptOf(a[line], 1)
	return document.InputErrors{{File: filepath.Join(p.dir, "spec.yaml"), Line: line + 1, Column: 1,
		Msg: fmt.Sprintf("this is not the experiment of %s", filepath.Join(base.dir, "spec.yaml")), Excerpt: excerpt,
		Allowed: "folders of one file with one set of options; only --seed and the number of repeat may differ, and a " +
			"part of a sweep (--set KEY=VALUE) is an experiment of its own"}}
}

// reseed makes of the origin of results that of results with so many seeds.
func (f *originFile) reseed(key string, n uint64) {
	if f == nil {
		return
	}
	for i := range f.Parameters {
		if f.Parameters[i].Path == key {
			f.Parameters[i].Value, f.Parameters[i].Source = strconv.FormatUint(n, 10), "--set"
		}
	}
	if f.Command == "" {
		return
	}
	words, set, found := shellWords(f.Command), fmt.Sprintf("%s=%d", key, n), false
	for i, w := range words {
		switch {
		case strings.HasPrefix(w, "--set="+key+"="):
			words[i], found = "--set="+set, true
		case i > 0 && words[i-1] == "--set" && strings.HasPrefix(w, key+"="):
			words[i], found = set, true
		}
	}
	if !found {
		words = append(words, "--set", set)
	}
	f.Command = strings.Join(words, " ")
}

// shellWords are the words of a command, quoted as they are.
func shellWords(command string) (words []string) {
	var word strings.Builder
	inside := false
	for i := 0; i < len(command); i++ {
		c := command[i]
		switch {
		case c == '\'':
			inside = !inside
		case c == '\\' && !inside && i+1 < len(command):
			word.WriteByte(c)
			i++
			c = command[i]
		case c == ' ' && !inside:
			words = append(words, word.String())
			word.Reset()
			continue
		}
		word.WriteByte(c)
	}
	return append(words, word.String())
}
