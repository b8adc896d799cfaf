//! Operations of jobs.

use skep_protocol::command::{Command, Need};
use skep_protocol::{Key, grants};
use skep_query::entities::{JOB, JOB_STATISTICS};

use super::rows::operations;
use crate::rest::decode::jobs;
use crate::rest::queries::{self, job_statistics};

operations! { "Jobs":
    POST "/v2/jobs/activation" () activateJobs {
        does: Command(ActivateJobs) = |call| jobs::activate(call.text, call.front),
        rpc: [ActivateJobs],
    }
    POST "/v2/jobs/{jobKey}/completion" (jobKey: Key) completeJob {
        does: Command(CompleteJob) = |call| jobs::complete(jobKey, call.text, call.front),
        rpc: [CompleteJob],
    }
    POST "/v2/jobs/{jobKey}/failure" (jobKey: Key) failJob {
        does: Command(FailJob) = |call| jobs::fail(jobKey, call.text, call.front),
        rpc: [FailJob],
    }
    POST "/v2/jobs/{jobKey}/error" (jobKey: Key) throwJobError {
        does: Command(ThrowError) = |call| jobs::throw_error(jobKey, call.text, call.front),
        rpc: [ThrowError],
    }
    PATCH "/v2/jobs/{jobKey}" (jobKey: Key) updateJob {
        does: Command(UpdateJob) = |call| jobs::update(jobKey, call.text, call.front),
        rpc: [UpdateJobRetries, UpdateJobTimeout],
    }
    POST "/v2/jobs/search" () searchJobs {
        does: Page(JOB),
        needs: Need::Filters(grants![ProcessDefinition: ReadProcessInstance]),
    }
    GET "/v2/jobs/statistics/global" () getGlobalJobStatistics {
        does: Query(JOB_STATISTICS) = |call| job_statistics::global(call.parts),
        needs: Need::Filters(grants![System: ReadJobMetric]),
    }
    POST "/v2/jobs/statistics/by-types" () getJobTypeStatistics {
        does: Query(JOB_STATISTICS) = |call| job_statistics::by_type(call.text),
        needs: Need::Filters(grants![System: ReadJobMetric]),
    }
    POST "/v2/jobs/statistics/by-workers" () getJobWorkerStatistics {
        does: Query(JOB_STATISTICS) = |call| job_statistics::by_worker(call.text),
        needs: Need::Filters(grants![System: ReadJobMetric]),
    }
    POST "/v2/jobs/statistics/time-series" () getJobTimeSeriesStatistics {
        does: Query(JOB_STATISTICS) = |call| job_statistics::by_time(call.text),
        needs: Need::Filters(grants![System: ReadJobMetric]),
    }
    POST "/v2/jobs/statistics/errors" () getJobErrorStatistics {
        does: Query(JOB_STATISTICS) = |call| job_statistics::errors(call.text),
        needs: Need::Filters(grants![ProcessDefinition: ReadProcessInstance]),
    }
    POST "/v2/jobs/stream" () streamJobs {
        does: Command(ActivateJobs) = |call| jobs::stream(call.text, call.front),
        rpc: [StreamActivatedJobs],
    }
}
