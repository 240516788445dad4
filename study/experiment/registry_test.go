package experiment_test

import (
	"testing"
	"testing/fstest"

	"weir/study/experiment"
)

// TestExperimentsListed checks that a list has title and paper of a file in any layout.
func TestExperimentsListed(t *testing.T) {
	const rest = "traffic:\n- {name: x}\nexpect: [{id: a,\n  says: 'title: no'\n}]\n"
	for name, text := range map[string]string{
		"plain":  "# first\ntitle: a title   # of it\npaper: {name: p, figure: 5a}\n" + rest,
		"long":   rest + "paper:\n  name: p\n\n  # the figure\n  figure: 5a\ntitle: >-\n  a\n  title\n",
		"flow":   "{title: a title, paper: {name: p, figure: 5a}, traffic: []}\n",
		"quoted": "\"title\": a title\n'paper': {name: p, figure: 5a}\n" + rest,
	} {
		t.Run(name, func(t *testing.T) {
			r := &experiment.Registry{Library: []experiment.Library{{Name: "l", Files: fstest.MapFS{
				"experiments/e.yaml": &fstest.MapFile{Data: []byte(text)}}}}}
			all := r.Experiments()
			want := experiment.LibraryEntry{Name: "l/e", Title: "a title", Paper: experiment.Paper{Name: "p", Figure: "5a"}}
			if len(all) != 1 || all[0] != want {
				t.Errorf("%+v, want %+v", all, want)
			}
		})
	}
}
