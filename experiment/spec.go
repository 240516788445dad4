package experiment

// Spec is an experiment file, decoded and valid.
type Spec struct {
	Title string
	Paper Paper
	Plots []Plot
	// …
}

// Paper names where an experiment comes from.
type Paper struct {
	Name   string
	Figure int
}

// Plot is one entry of the spec's plot list: y over the sweep key x, one line a
// combination of the keys in Lines (sweep keys, or the groups of the measure:
// "traffic", "port").
type Plot struct {
	X, Y  string
	Lines []string
}
