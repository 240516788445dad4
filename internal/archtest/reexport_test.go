package archtest

import (
	"fmt"
	"slices"
	"testing"
	"testing/fstest"
)

func TestReexportsCatches(t *testing.T) {
	const imports = "package a\nimport (\n\t\"m/core/unit\"\n\tother \"m/core/packet\"\n\t\"time\"\n)\n"
	const at = "a/a.go:7:"
	for _, c := range []struct {
		name, src string
		allowed   map[string]string
		want      []string
	}{
		{"alias", "type Port = other.PortID", nil,
			[]string{at + "6: a.Port is a second name of core/packet.PortID; use that one"}},
		{"unexported alias", "type port = other.PortID", nil,
			[]string{at + "6: a.port is a second name of core/packet.PortID; use that one"}},
		{"variable", "var Parse = unit.ParseTime", nil,
			[]string{at + "5: a.Parse is a second name of core/unit.ParseTime; use that one"}},
		{"constant", "const never, Kilo = unit.Never, 1000", nil,
			[]string{at + "7: a.never is a second name of core/unit.Never; use that one"}},
		{"constant with another name", "const period = unit.Second", nil, nil},
		{"standard library", "type Duration = time.Duration\nvar Now = time.Now", nil, nil},
		{"defined type", "type Port other.PortID", nil, nil},
		{"generic type with arguments", "type Ports = unit.List[other.PortID]", nil, nil},
		{"call", "var parsed = unit.ParseTime(\"1s\")", nil, nil},
		{"within a function", "func f() { x := unit.Never; _ = x }", nil, nil},
		{"allowed", "type Port = other.PortID", map[string]string{"a.Port": "a reason"}, nil},
		{"unneeded", "", map[string]string{"a.Port": "a reason"},
			[]string{"-: a.Port needs no exception: it re-exports no declaration"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			found, err := CheckReexports(fstest.MapFS{"a/a.go": {Data: []byte(imports + c.src)},
				"a/a_test.go": {Data: []byte(imports + "type Port2 = other.PortID")}}, "m", c.allowed)
			var got []string
			for _, v := range found {
				got = append(got, v.String())
			}
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("%q, %v; want %q", got, err, c.want)
			}
		})
	}
}

func ExampleCheckReexports() {
	src := "package app\n\nimport \"m/study\"\n\ntype Result = study.Result\n"
	found, err := CheckReexports(fstest.MapFS{"app/app.go": {Data: []byte(src)}}, "m", nil)
	fmt.Println(found, err)
	// Output: [app/app.go:5:6: app.Result is a second name of study.Result; use that one] <nil>
}
