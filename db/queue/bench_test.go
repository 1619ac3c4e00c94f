package queue_test

import (
	"context"
	"testing"
	"time"

	"github.com/agentgraph/agentgraph/db/queue"
)

// BenchmarkJobs measures how long the queue takes for a job that does nothing, with 50 in progress.
func BenchmarkJobs(b *testing.B) {
	_, pool := fresh(b)
	q := newQueue(b, pool, 50)
	done := make(chan struct{}, b.N)
	jobs := jobsOf(newCompany(b, pool, "company_1"), b.N)
	if err := q.Start(b.Context(), 50, func(context.Context, *queue.Delivery) error {
		done <- struct{}{}
		return nil
	}); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	enqueue(b, pool, q, jobs...)
	for range b.N {
		<-done
	}
}

// BenchmarkSchedule compares 1,000 jobs of 400 ms, 50 in progress at once, with their ideal schedule.
func BenchmarkSchedule(b *testing.B) {
	const jobs, size, length = 1000, 50, 400 * time.Millisecond
	for range b.N {
		_, pool := fresh(b)
		q := newQueue(b, pool, size)
		done := make(chan struct{}, jobs)
		if err := q.Start(b.Context(), size, func(context.Context, *queue.Delivery) error {
			<-time.After(length)
			done <- struct{}{}
			return nil
		}); err != nil {
			b.Fatal(err)
		}
		started := time.Now()
		enqueue(b, pool, q, jobsOf(newCompany(b, pool, "company_1"), jobs)...)
		for range jobs {
			<-done
		}
		b.ReportMetric(float64(time.Since(started))/float64(jobs/size*length), "of-ideal")
	}
}

// BenchmarkFairness measures how long 10 jobs of one company wait behind 5,000 jobs of another company. Each job takes
// 50 ms, and 10 are in progress at once.
func BenchmarkFairness(b *testing.B) {
	for range b.N {
		_, pool := fresh(b)
		q := newQueue(b, pool, 10)
		done := make(chan queue.Job, 10_000)
		if err := q.Start(b.Context(), 10, func(_ context.Context, d *queue.Delivery) error {
			<-time.After(50 * time.Millisecond)
			done <- d.Job
			return nil
		}); err != nil {
			b.Fatal(err)
		}
		enqueue(b, pool, q, jobsOf(newCompany(b, pool, "company_large"), 5000)...)
		<-done
		small := newCompany(b, pool, "company_small")
		started := time.Now()
		enqueue(b, pool, q, jobsOf(small, 10)...)
		for left := 10; left > 0; {
			if job := <-done; job.CompanyID == small {
				left--
			}
		}
		b.ReportMetric(float64(time.Since(started).Milliseconds()), "ms-behind-5000")
	}
}
