-- The journal as people ask it. Nothing here is stored: each view reads the events of `journal`.
--
-- They tell what was asked and answered. What the engine made of it in the end (the status of each step, refused
-- updates, what was cut) stands in the report: `conclusions.report`.

CREATE VIEW places AS
SELECT
    id,
    received_at,
    CASE
        WHEN dead_letter_id IS NOT NULL THEN 'dead_letter'
        WHEN outcome IN ('new', 'revision', 'replaced', 'resumed') THEN 'case'
        ELSE outcome
    END AS place,
    CASE WHEN outcome IN ('muted', 'set_aside') THEN why ELSE '' END AS why,
    key,
    case_id
FROM arrivals;
COMMENT ON VIEW places IS 'Where every accepted alert is, each in exactly one place: case, sighting, member, muted, set_aside, dead_letter.';

CREATE VIEW evidence AS
WITH calls AS (
    SELECT case_id, revision, command, min(seq) AS first_seq
    FROM journal
    WHERE kind = 'started' AND command LIKE 'call:%'
    GROUP BY case_id, revision, command
),
numbered AS (
    SELECT *, row_number() OVER (PARTITION BY case_id, revision ORDER BY first_seq) AS number
    FROM calls
)
SELECT
    numbered.case_id,
    numbered.revision,
    'E' || numbered.number AS evidence,
    numbered.command,
    journal.at,
    journal.event #> '{outcome,value,body}' AS body,
    (journal.event #>> '{outcome,value,rows}')::bigint AS rows,
    journal.event #>> '{outcome,value,error}' AS error
FROM numbered
JOIN journal USING (case_id, revision, command)
WHERE journal.kind = 'finished';
COMMENT ON VIEW evidence IS 'What tool calls answered, numbered as in reports. E0, the alert, stands in alerts.';

CREATE VIEW plans AS
SELECT
    case_id,
    revision,
    at,
    event #>> '{outcome,value,mode}' AS mode,
    event #>> '{outcome,value,objective}' AS objective,
    event #>> '{outcome,value,source}' AS source,
    jsonb_array_length(event #> '{outcome,value,steps}') AS steps,
    event ->> 'model' AS model,
    event #> '{outcome,value}' AS plan
FROM journal
WHERE kind = 'finished' AND command = 'plan' AND event #>> '{outcome,kind}' = 'planned';
COMMENT ON VIEW plans IS 'What the plan question was answered, one row per triage that has a plan.';
COMMENT ON COLUMN plans.mode IS 'direct, planned, adaptive.';
COMMENT ON COLUMN plans.source IS 'What the plan comes from, e.g. a playbook.';

CREATE VIEW steps AS
WITH planned AS (
    SELECT case_id, revision, 's' || step.number AS step, step.value AS draft
    FROM plans
    CROSS JOIN LATERAL jsonb_array_elements(plan -> 'steps') WITH ORDINALITY AS step (value, number)
),
results AS (
    SELECT
        case_id,
        revision,
        split_part(command, ':', 2) AS step,
        split_part(command, ':', 3)::integer AS turns,
        at AS ended_at,
        event #> '{outcome,value}' AS result
    FROM journal
    WHERE kind = 'finished' AND command LIKE 'turn:%' AND event #>> '{outcome,value,answer}' = 'result'
),
told AS (
    SELECT case_id, revision, step.value ->> 'id' AS step, step.value AS entry
    FROM conclusions
    CROSS JOIN LATERAL jsonb_array_elements(report -> 'steps') AS step (value)
)
SELECT
    case_id,
    revision,
    step,
    coalesce(told.entry ->> 'description', planned.draft ->> 'description') AS description,
    coalesce(told.entry ->> 'status', CASE WHEN results.step IS NULL THEN 'open' ELSE 'done' END) AS status,
    coalesce(told.entry ->> 'outcome', results.result ->> 'outcome') AS outcome,
    results.result ->> 'summary' AS summary,
    results.turns,
    results.ended_at,
    planned.step IS NOT NULL AS was_planned
FROM planned
FULL JOIN results USING (case_id, revision, step)
FULL JOIN told USING (case_id, revision, step);
COMMENT ON VIEW steps IS 'The steps of each triage: those of the plan, and those that a reflection added.';
COMMENT ON COLUMN steps.status IS 'As the report says once there is one: done, failed, cancelled, not_run; before it: open or done.';
COMMENT ON COLUMN steps.outcome IS 'met, unmet, failed.';
COMMENT ON COLUMN steps.turns IS 'How many questions it took.';
COMMENT ON COLUMN steps.was_planned IS 'It stood in the plan from the start.';

CREATE VIEW calls AS
SELECT
    started.case_id,
    started.revision,
    started.command,
    nullif(split_part(started.command, ':', 2), 'past_cases') AS step,
    coalesce(asked.call ->> 'tool', CASE started.command WHEN 'call:past_cases' THEN 'past_cases' END) AS tool,
    asked.call -> 'arguments' AS arguments,
    started.started_at,
    started.attempts,
    finished.at AS finished_at,
    finished.at - started.started_at AS took,
    (finished.event #>> '{outcome,value,rows}')::bigint AS rows,
    CASE finished.event #>> '{outcome,kind}' WHEN 'call_failed' THEN finished.event #>> '{outcome,value,error}' END AS error
FROM (
    SELECT case_id, revision, command, max(at) AS started_at, count(*) AS attempts
    FROM journal
    WHERE kind = 'started' AND command LIKE 'call:%'
    GROUP BY case_id, revision, command
) AS started
LEFT JOIN journal AS finished
    ON finished.case_id = started.case_id AND finished.revision = started.revision
    AND finished.command = started.command AND finished.kind = 'finished'
LEFT JOIN LATERAL (
    SELECT CASE split_part(started.command, ':', 3)
        WHEN '0' THEN answer.event #> ARRAY['outcome', 'value', 'steps',
            (substr(split_part(started.command, ':', 2), 2)::integer - 1)::text, 'calls', split_part(started.command, ':', 4)]
        ELSE answer.event #> ARRAY['outcome', 'value', 'calls', split_part(started.command, ':', 4)]
    END AS call
    FROM journal AS answer
    WHERE started.command LIKE 'call:s%'
        AND answer.case_id = started.case_id AND answer.revision = started.revision AND answer.kind = 'finished'
        AND answer.command = CASE split_part(started.command, ':', 3)
            WHEN '0' THEN 'plan'
            ELSE 'turn:' || split_part(started.command, ':', 2) || ':' || split_part(started.command, ':', 3)
        END
) AS asked ON true;
COMMENT ON VIEW calls IS 'Tool calls, with how long they took and what they found.';
COMMENT ON COLUMN calls.tool IS 'Null where the call came with a decision or a reflection; see journal.';
COMMENT ON COLUMN calls.attempts IS 'More than one: a worker was lost while it ran.';

CREATE VIEW reflections AS
SELECT
    case_id,
    revision,
    split_part(command, ':', 2)::integer AS number,
    at,
    (event #>> '{outcome,value,achieved}')::boolean AS achieved,
    coalesce(event #> '{outcome,value,insights}', '[]') AS insights,
    coalesce(event #> '{outcome,value,plan_updates}', '[]') AS plan_updates,
    event ->> 'model' AS model
FROM journal
WHERE kind = 'finished' AND command LIKE 'reflect:%' AND event #>> '{outcome,kind}' = 'reflected';
COMMENT ON VIEW reflections IS 'What was thought after each wave of steps.';
COMMENT ON COLUMN reflections.plan_updates IS 'What was asked for: add_step, update_step, cancel_step, each with a reason.';

CREATE VIEW questions AS
SELECT
    case_id,
    revision,
    command,
    split_part(command, ':', 1) AS question,
    at,
    event ->> 'model' AS model,
    event -> 'degraded' ->> 'error' AS degraded,
    (event #>> '{cost,usd}')::double precision AS usd,
    (event #>> '{cost,input_tokens}')::bigint AS input_tokens,
    (event #>> '{cost,cached_tokens}')::bigint AS cached_tokens,
    (event #>> '{cost,output_tokens}')::bigint AS output_tokens,
    (event #>> '{cost,model_calls}')::bigint AS model_calls
FROM journal
WHERE kind = 'finished' AND command NOT LIKE 'call:%' AND command <> 'exonerate';
COMMENT ON VIEW questions IS 'Questions to the analyst: plan, turn, decide, reflect, conclude, with the model that answered and what it cost.';
COMMENT ON COLUMN questions.degraded IS 'Why a lesser analyst answered, where one did.';
