// Package rpc is a workload: the sizes of calls and answers, mostly small, with a long tail.
package rpc

import "weir/core/workload"

// Sizes returns the distribution for experiments: sizes: rpc. It is linear between two points.
func Sizes() workload.CDF {
	return workload.CDF{Name: "rpc", Points: []workload.Point{
		{Bytes: 64, Share: 0},
		{Bytes: 512, Share: 0.5},
		{Bytes: 4_000, Share: 0.9},
		{Bytes: 64_000, Share: 0.99},
		{Bytes: 256_000, Share: 1},
	}}
}
