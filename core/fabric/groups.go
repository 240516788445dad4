package fabric

import "weir/core/unit"

// windowOf returns the length of execution windows: the configured one or, if that is 0, the shortest delay above 0.
// Without any delay it is 1 ms.
func windowOf(links []Link, configuredLength unit.Time) unit.Time {
	if configuredLength > 0 {
		return configuredLength
	}
	window := unit.Never
	for i := range links {
		if l := &links[i]; l.Delay > 0 {
			window = min(window, l.Delay)
		}
	}
	if window == unit.Never { // no link has a delay: one group, and the window only limits the time between stops
		return unit.Millisecond
	}
	return window
}

// GroupNodes returns the number of each node's group. Nodes that links shorter than the window join are in one group,
// and must be in one part. window is Config.Window.
func GroupNodes(nodes int, links []Link, window unit.Time) []int32 {
	of, _ := groupsOf(nodes, links, windowOf(links, window))
	return of
}

// groupsOf returns the number of each node's group, and the number of groups. Groups are numbered in the order of
// their first nodes.
func groupsOf(nodes int, links []Link, window unit.Time) (of []int32, groups int32) {
	root := make([]int32, nodes)
	for n := range root {
		root[n] = int32(n)
	}
	find := func(n int32) int32 {
		for root[n] != n {
			root[n] = root[root[n]]
			n = root[n]
		}
		return n
	}
	for i := range links {
		if l := &links[i]; l.Delay < window {
			a, b := find(int32(l.From)), find(int32(l.To))
			root[max(a, b)] = min(a, b)
		}
	}
	of = make([]int32, nodes)
	for n := range of {
		if r := find(int32(n)); r == int32(n) {
			of[n] = groups
			groups++
		} else {
			of[n] = of[r]
		}
	}
	return of, groups
}
