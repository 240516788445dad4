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

// seedRange is a resolved spec without its seeds, and the seeds.
type seedRange struct {
	part  *mergePart
	rest  string
	first uint64
	count uint64 // 0: the data choose the number
}

// endSeed returns the seed after the last one.
func (s *seedRange) endSeed() uint64 { return s.first + s.count }

// repeatKey returns the key of a resolved spec with the number of seeds in a world.
func repeatKey(text []byte, world string) string {
	if world == experiment.Lab && bytes.Contains(text, []byte("\nlab_repeat: ")) {
		return "lab_repeat"
	}
	return "repeat"
}

// splitSeeds separates the first seed and the number of seeds from a resolved spec. A number that the data choose stays
// in the rest.
func splitSeeds(p *mergePart) *seedRange {
	s := &seedRange{part: p}
	var rest strings.Builder
	key := repeatKey(p.spec, p.world)
	for line := range strings.Lines(string(p.spec)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		number, err := strconv.ParseUint(value, 10, 64)
		switch {
		case err == nil && name == "seed":
			s.first = number
		case err == nil && name == key:
			s.count = number
		default:
			rest.WriteString(line)
		}
	}
	s.rest = rest.String()
	return s
}

// replaceSeeds returns a part's resolved spec with n seeds from first on.
func replaceSeeds(p *mergePart, first, n uint64) []byte {
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

// mergeSpecs merges the specs of the parts: they must be equal, or differ only in their seeds, with contiguous seed
// ranges. Ranges may overlap. It returns the spec, its origin (nil: unknown) and the part that it is based on. Other
// differences are an InputErrors.
func mergeSpecs(parts []*mergePart) (text []byte, from *originFile, base *mergePart, err error) {
	base = parts[0]
	one := true
	for _, p := range parts {
		one = one && bytes.Equal(p.spec, base.spec)
	}
	if one {
		base = firstOrigin(parts)
		from, err = readOrigin(base.dir)
		return base.spec, from, base, err
	}
	var all []*seedRange
	for _, p := range parts {
		all = append(all, splitSeeds(p))
	}
	for _, s := range all {
		if s.rest != all[0].rest || s.count == 0 || s.endSeed() < s.first {
			return nil, nil, nil, specMismatch(s.part, base)
		}
	}
	slices.SortStableFunc(all, func(a, b *seedRange) int {
		return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.count, b.count))
	})
	first, end := all[0].first, all[0].endSeed()
	for k, s := range all {
		if s.first > end {
			return nil, nil, nil, document.InputErrors{{File: filepath.Join(s.part.dir, "spec.yaml"), Line: 1, Column: 1,
				Msg: fmt.Sprintf("its seeds begin at %d, but the seeds of %s end at %d; the merged seeds must be contiguous",
					s.first, filepath.Join(all[k-1].part.dir, "spec.yaml"), end-1),
				Allowed: "additional folders with the missing seeds"}}
		}
		end = max(end, s.endSeed())
	}
	var firsts []*mergePart
	for _, s := range all {
		if s.first == first {
			firsts = append(firsts, s.part)
		}
	}
	base = firstOrigin(firsts)
	if from, err = readOrigin(base.dir); err != nil {
		return nil, nil, nil, err
	}
	from.setSeedCount(repeatKey(base.spec, base.world), end-first)
	return replaceSeeds(base, first, end-first), from, base, nil
}

// firstOrigin returns the part with the smallest origin.json in byte order, so that the order of folders does not
// matter.
func firstOrigin(parts []*mergePart) *mergePart {
	return slices.MinFunc(parts, func(a, b *mergePart) int {
		return cmp.Or(cmp.Compare(min(len(b.origin), 1), min(len(a.origin), 1)), bytes.Compare(a.origin, b.origin))
	})
}

// specMismatch returns an InputErrors with the first line in which a part's spec differs from another one.
func specMismatch(p, base *mergePart) error {
	own, other := splitSeeds(p), splitSeeds(base)
	key := repeatKey(p.spec, p.world) + ": "
	mayDiffer := func(line string) bool { // unless only the seeds differ
		return own.rest != other.rest && (strings.HasPrefix(line, "seed: ") || own.count > 0 && strings.HasPrefix(line, key))
	}
	a, b := strings.Split(string(p.spec), "\n"), strings.Split(string(base.spec), "\n")
	line := 0
	for line < min(len(a), len(b))-1 && (a[line] == b[line] || mayDiffer(a[line]) && mayDiffer(b[line])) {
		line++
	}
	excerpt, _ := document.CutExcerpt(a[line], 1)
	return document.InputErrors{{File: filepath.Join(p.dir, "spec.yaml"), Line: line + 1, Column: 1,
		Msg: fmt.Sprintf("the experiment differs from the one of %s", filepath.Join(base.dir, "spec.yaml")), Excerpt: excerpt,
		Allowed: "folders of the same file and options; only --seed and repeat may differ. A part of a sweep (--set " +
			"KEY=VALUE) is a separate experiment"}}
}

// setSeedCount changes the origin to results with n seeds. key is the key of the number of seeds. A nil origin has no
// effect.
func (f *originFile) setSeedCount(key string, n uint64) {
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

// shellWords splits a command at each space outside of quotes and keeps the quotes. Neighbouring spaces give empty
// words.
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
