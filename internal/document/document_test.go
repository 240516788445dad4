package document

import (
	"fmt"
	"strings"
	"testing"
)

var kind = FileKind{Name: "recipe", Whole: "a recipe", First: "title, …"}

// Example reports all errors at once, in the order of the file.
func Example() {
	r := NewReader(FileKind{Name: "recipe", Whole: "a recipe", First: "title, …"})
	root := Parse(r, "soup.yaml", []byte("titel: soup\nserves: many\n"))
	r.CheckKeys(root, "key", []string{"title", "serves"})
	r.ReadInteger(root.Find("serves"), 1, 20)
	fmt.Println(r.Err())
	// Output:
	// soup.yaml:1:1: unknown key "titel"; did you mean "title"?; allowed: title, serves
	//     titel: soup
	//     ^
	// soup.yaml:2:9: "many" is not a whole number in the range; allowed: 1 … 20
	//     serves: many
	//             ^
}

// TestWriteReads checks that a written document is read as the same document, and is written the same again.
func TestWriteReads(t *testing.T) {
	for _, text := range []string{
		"a: 1\n", "a: [1, two, 3%]\n", "a: {b: {c: [x, {y: z}]}}\n", "a: \"quoted: text\"\n", "a: \" b\"\n",
		"\"*\": {programs: []}\n", "a: \"\\\"\\\\\"\n", "a: \"-1\"\n", "a: b->c\n", "- a\n- b: c\n",
	} {
		t.Run(text, func(t *testing.T) {
			first := written(t, text)
			if second := written(t, first); second != first {
				t.Errorf("%q is %q when it is read again", first, second)
			}
		})
	}
}

func written(t *testing.T, text string) string {
	r := NewReader(kind)
	root := Parse(r, "x.yaml", []byte(text))
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	root.WriteYAML(&b, 0)
	return b.String()
}

// TestReadDefault_FillsMissingKeys checks that ReadDefault fills in a missing key and keeps a given value.
// WriteShared copies the defaults to the original map.
func TestReadDefault_FillsMissingKeys(t *testing.T) {
	r := NewReader(kind)
	root := Parse(r, "x.yaml", []byte("a: {b: 1}\n"))
	part := Copy(root)
	if v := r.ReadDefault(part.Find("a"), "c", "2", "Weir"); r.ReadInteger(v, 1, 3) != 2 || v.From != "default: Weir" {
		t.Errorf("the default is %+v", v)
	}
	if v := r.ReadDefault(part.Find("a"), "b", "2", "Weir"); r.ReadInteger(v, 1, 3) != 1 {
		t.Errorf("the file's value is %+v", v)
	}
	if got := root.FormatFlow(); got != "{a: {b: 1}}" {
		t.Error(got)
	}
	var defaults Defaults
	defaults.NoteDefaults(part)
	defaults.WriteShared()
	if got := root.FormatFlow(); got != "{a: {b: 1, c: 2}}" {
		t.Error(got)
	}
}

// TestWriteShared_WritesCommonDefaults checks that WriteShared writes the defaults that all copies had in common,
// including parameters of named things.
func TestWriteShared_WritesCommonDefaults(t *testing.T) {
	root := Parse(NewReader(kind), "x.yaml", []byte("[{b: 1}, x, y, z]\n"))
	var defaults Defaults
	for _, c := range []struct{ of, third string }{{"1", "z"}, {"2", "z"}, {"2", ""}} {
		r := NewReader(kind)
		part := Copy(root)
		r.ReadDefault(part.Items[0], "same", "0", "Weir")
		r.ReadDefault(part.Items[0], "other", c.of, "Weir")
		if c.of == "2" {
			r.ReadDefault(part.Items[0], "some", "0", "Weir")
		}
		_, x := r.SplitNamed(part.Items[1], "thing")
		r.ReadDefault(x, "same", "0", "Weir")
		_, y := r.SplitNamed(part.Items[2], "thing")
		r.ReadDefault(y, "other", c.of, "Weir")
		if c.third != "" {
			r.SplitNamed(part.Items[3], "thing")
		}
		defaults.NoteDefaults(part)
	}
	defaults.WriteShared()
	if got, want := root.FormatFlow(), "[{b: 1, same: 0}, {x: {same: 0}}, y, z]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestSortKeys_SortsDeclaredKeysOnly checks that declared keys are sorted, and names of the file are not.
func TestSortKeys_SortsDeclaredKeysOnly(t *testing.T) {
	r := NewReader(kind)
	root := Parse(r, "x.yaml", []byte("{z: {d: 1, c: 2}, y: {b: 1, a: 2}}\n"))
	r.ReadDefault(root.Find("y"), "aa", "0", "Weir")
	root.SortKeys()
	if got, want := root.FormatFlow(), "{z: {d: 1, c: 2}, y: {a: 2, aa: 0, b: 1}}"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestFindNearest_FindsMisspeltWords(t *testing.T) {
	words := []string{"queue", "buffer", "scheduler"}
	for word, want := range map[string]string{"qeue": "queue", "Buffer": "buffer", "sheduler": "scheduler", "x": "",
		"something": ""} {
		t.Run(word, func(t *testing.T) {
			if got := FindNearest(word, words); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}
