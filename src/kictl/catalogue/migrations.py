"""The catalogue's schema, as the list of steps that made it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any

from kictl.catalogue.bodies import Codec
from kictl.model import Score

Part = str | Callable[[sqlite3.Connection, Codec], None]
"""SQL, or a function for what SQL cannot say."""


def runs_of_observations(db: sqlite3.Connection, codec: Codec) -> None:
    """A row for each run that a submission was ever seen with, from what observations and submissions repeat of it."""
    rows = db.execute(
        "SELECT o.run_id, o.submission_id, o.cohort_id, m.body, o.latency_ns, o.observed_at,"
        " CASE WHEN s.run_id = o.run_id THEN s.standing ELSE 'superseded' END"
        " FROM observation o JOIN manifest m ON m.id = o.run_id JOIN submission s ON s.id = o.submission_id"
        " WHERE o.id IN (SELECT max(id) FROM observation WHERE cohort_id IS NOT NULL GROUP BY run_id)"
    )
    for run_id, submission_id, cohort_id, body, value, observed_at, standing in rows:
        run: dict[str, Any] = codec.unpack(body)
        implementation = codec.id_of(bytes.fromhex(run["spec"]["implementationDigest"][7:]))
        values = (run_id, submission_id, cohort_id, implementation, run["spec"]["status"], standing, value, observed_at)
        db.execute("INSERT INTO run VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)
        if (score := Score.of(run["spec"])) is not None:
            db.execute("INSERT INTO score VALUES (?, ?, ?, ?, ?)", (run_id, *score))


def projects_of_authors(db: sqlite3.Connection, codec: Codec) -> None:
    """The manifest that stands for the author of each submission that has a run."""
    projects: dict[str, int] = {
        codec.unpack(body)["spec"]["name"]: manifest_id
        for manifest_id, body in db.execute(
            "SELECT id, body FROM manifest WHERE kind_id = (SELECT id FROM kind WHERE name = 'SoftwareProject')"
        )
    }
    with_runs = db.execute("SELECT id, author FROM submission WHERE id IN (SELECT submission_id FROM run)").fetchall()
    db.executemany(
        "UPDATE submission SET project_id = ? WHERE id = ?",
        ((projects.get(author), submission_id) for submission_id, author in with_runs),
    )


OBJECTS = frozenset({
    # Tables.
    "body", "bounds", "bounds_case", "claim", "cohort", "definition", "definition_suite", "definition_version",
    "dictionary", "drift", "evidence", "import", "kernel_cohort", "kind", "manifest", "note", "observation",
    "quarantine", "reading", "run", "score", "serving_cohort", "submission",
    # Indexes.
    "definition_name", "definition_version_latest", "manifest_digest", "note_run", "observation_import",
    "observation_submission", "quarantine_import", "reading_definition", "run_ranking", "run_submission",
    "submission_author",
    # Indexes of older versions.
    "observation_cohort", "observation_run", "submission_definition", "submission_ranking",
})  # fmt: skip
"""What the steps make; a file that holds more was not made by kictl alone."""


# Each step runs in one transaction together with the new user_version, while foreign keys are not enforced: a table
# that others refer to can be made anew. Steps that have been released never change.
STEPS: tuple[tuple[Part, ...], ...] = (
    (
        """
        -- What manifest and evidence bodies are compressed against.
        CREATE TABLE dictionary (id INTEGER PRIMARY KEY, content BLOB NOT NULL) STRICT;

        CREATE TABLE kind (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
        INSERT INTO kind (name) VALUES
          ('OperationSpec'), ('WorkloadCase'), ('WorkloadSuite'), ('SoftwareProject'), ('ImplementationRevision'),
          ('BenchmarkProtocol'), ('ExecutionEnvironment'), ('BenchmarkRun');

        -- Append-only by digest. `body` is the whole manifest as JSON, compressed.
        CREATE TABLE manifest (
          id INTEGER PRIMARY KEY,
          digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 32),
          kind_id INTEGER NOT NULL REFERENCES kind,
          body BLOB NOT NULL
        ) STRICT;

        -- One event per import; finished_at is NULL while it runs and where it was interrupted.
        CREATE TABLE import (
          id INTEGER PRIMARY KEY,
          source TEXT NOT NULL,
          origin TEXT NOT NULL,
          selection TEXT NOT NULL,
          version TEXT NOT NULL,
          started_at TEXT NOT NULL,
          finished_at TEXT,
          snapshot_digest TEXT,
          catalog_digest TEXT,
          report TEXT
        ) STRICT;

        CREATE TABLE definition (
          id INTEGER PRIMARY KEY,
          source TEXT NOT NULL,
          external_id TEXT NOT NULL,
          name TEXT NOT NULL,
          UNIQUE (source, external_id)
        ) STRICT;
        CREATE INDEX definition_name ON definition (name);

        CREATE TABLE bounds (
          id INTEGER PRIMARY KEY,
          digest BLOB NOT NULL,
          is_dummy INTEGER NOT NULL,
          UNIQUE (digest, is_dummy)
        ) STRICT;
        CREATE TABLE bounds_case (
          bounds_id INTEGER NOT NULL REFERENCES bounds,
          position INTEGER NOT NULL,
          axes TEXT NOT NULL,
          baseline_ms REAL,
          sol_ms REAL,
          PRIMARY KEY (bounds_id, position)
        ) STRICT, WITHOUT ROWID;

        -- What a definition said from one import on; the latest is the current one.
        CREATE TABLE definition_version (
          id INTEGER PRIMARY KEY,
          definition_id INTEGER NOT NULL REFERENCES definition,
          import_id INTEGER NOT NULL REFERENCES import,
          operation_id INTEGER NOT NULL REFERENCES manifest,
          suite_id INTEGER NOT NULL REFERENCES manifest,
          bounds_id INTEGER NOT NULL REFERENCES bounds,
          facts_digest BLOB NOT NULL,
          facts BLOB NOT NULL
        ) STRICT;
        CREATE INDEX definition_version_latest ON definition_version (definition_id, id);

        CREATE TABLE cohort (
          id INTEGER PRIMARY KEY,
          definition_id INTEGER NOT NULL REFERENCES definition,
          comparison_key BLOB NOT NULL,
          gpu TEXT NOT NULL,
          stack TEXT,
          cases INTEGER NOT NULL,
          operation_id INTEGER NOT NULL REFERENCES manifest,
          suite_id INTEGER NOT NULL REFERENCES manifest,
          protocol_id INTEGER NOT NULL REFERENCES manifest,
          environment_id INTEGER NOT NULL REFERENCES manifest,
          UNIQUE (definition_id, comparison_key)
        ) STRICT;

        -- The present state of every submission; its source is that of its definition, and within a source its external
        -- id belongs to one definition. `run_id` is its last run, also where that is retracted.
        CREATE TABLE submission (
          id INTEGER PRIMARY KEY,
          external_id TEXT NOT NULL,
          definition_id INTEGER NOT NULL REFERENCES definition,
          author TEXT NOT NULL,
          gpu TEXT NOT NULL,
          stack TEXT,
          facts_digest BLOB NOT NULL,
          standing TEXT NOT NULL CHECK (standing IN ('current', 'retracted', 'ineligible')),
          unlisted INTEGER NOT NULL,
          reasons TEXT NOT NULL,
          cohort_id INTEGER REFERENCES cohort,
          run_id INTEGER REFERENCES manifest,
          latency_ns INTEGER,
          sol_score REAL,
          avg_speedup REAL,
          fast_1_count INTEGER,
          fast_1_total INTEGER,
          observed_at TEXT,
          UNIQUE (external_id, definition_id)
        ) STRICT;
        CREATE INDEX submission_ranking ON submission (cohort_id, standing, latency_ns);
        CREATE INDEX submission_definition ON submission (definition_id);
        CREATE INDEX submission_author ON submission (author);

        -- Some rows of one definition that an import saw for the first time or changed: a JSON list, compressed.
        CREATE TABLE evidence (
          id INTEGER PRIMARY KEY,
          import_id INTEGER NOT NULL REFERENCES import,
          definition_id INTEGER NOT NULL REFERENCES definition,
          body BLOB NOT NULL
        ) STRICT;

        -- Every state that a submission was ever seen in; `place` is its row's position in the evidence.
        CREATE TABLE observation (
          id INTEGER PRIMARY KEY,
          submission_id INTEGER NOT NULL REFERENCES submission,
          import_id INTEGER NOT NULL REFERENCES import,
          run_id INTEGER REFERENCES manifest,
          standing TEXT NOT NULL,
          unlisted INTEGER NOT NULL,
          reasons TEXT NOT NULL,
          evidence_id INTEGER REFERENCES evidence,
          place INTEGER,
          cohort_id INTEGER REFERENCES cohort,
          latency_ns INTEGER,
          observed_at TEXT
        ) STRICT;
        CREATE INDEX observation_submission ON observation (submission_id, id);
        CREATE INDEX observation_run ON observation (run_id);
        CREATE INDEX observation_import ON observation (import_id);
        CREATE INDEX observation_cohort ON observation (cohort_id, submission_id);

        -- One definition read by one import: its presence says that everything of it was committed.
        CREATE TABLE reading (
          import_id INTEGER NOT NULL REFERENCES import,
          definition_external_id TEXT NOT NULL,
          expected INTEGER,
          announced INTEGER,
          received INTEGER NOT NULL,
          complete INTEGER NOT NULL,
          problem TEXT,
          counts TEXT NOT NULL,
          PRIMARY KEY (import_id, definition_external_id)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE body (
          import_id INTEGER NOT NULL REFERENCES import,
          name TEXT NOT NULL,
          digest BLOB NOT NULL,
          PRIMARY KEY (import_id, name)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE quarantine (
          id INTEGER PRIMARY KEY,
          import_id INTEGER NOT NULL REFERENCES import,
          place TEXT NOT NULL,
          external_id TEXT,
          pointer TEXT NOT NULL,
          reason TEXT NOT NULL,
          facts BLOB
        ) STRICT;
        CREATE INDEX quarantine_import ON quarantine (import_id);

        CREATE TABLE drift (
          import_id INTEGER NOT NULL REFERENCES import,
          what TEXT NOT NULL,
          count INTEGER NOT NULL,
          example TEXT NOT NULL,
          PRIMARY KEY (import_id, what)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE note (
          id INTEGER PRIMARY KEY,
          run_digest BLOB NOT NULL,
          kind TEXT NOT NULL,
          text TEXT NOT NULL,
          written_at TEXT NOT NULL
        ) STRICT;
        CREATE INDEX note_run ON note (run_digest);
        """,
    ),
    (
        """
        -- Manifests are found by the first bytes of their digests, in an index a third as large as one of whole digests
        -- (see `store.PREFIX`). What writes them looks for each first, so that they stay unique.
        CREATE TABLE manifest_2 (
          id INTEGER PRIMARY KEY,
          digest BLOB NOT NULL CHECK (length(digest) = 32),
          kind_id INTEGER NOT NULL REFERENCES kind,
          body BLOB NOT NULL
        ) STRICT;
        INSERT INTO manifest_2 SELECT id, digest, kind_id, body FROM manifest;
        DROP TABLE manifest;
        ALTER TABLE manifest_2 RENAME TO manifest;
        CREATE INDEX manifest_digest ON manifest (substr(digest, 1, 6));

        -- An import writes one definition at a time: in these indexes that is one place, not one for each author.
        DROP INDEX submission_definition;
        DROP INDEX submission_author;
        CREATE INDEX submission_author ON submission (definition_id, author);

        -- Only what is current is ranked. What a cohort held before is found by its definition. An index ends with the
        -- row's id anyway.
        DROP INDEX submission_ranking;
        CREATE INDEX submission_ranking ON submission (cohort_id) WHERE standing = 'current';
        DROP INDEX observation_cohort;
        DROP INDEX observation_submission;
        CREATE INDEX observation_submission ON observation (submission_id);
        """,
    ),
    (
        """
        -- The results of any source. A definition that its source knows by its name alone has no id there.
        INSERT INTO kind (name) VALUES
          ('ModelRevision'), ('ServingStackRevision'), ('ServingConfiguration'), ('ServingWorkload'), ('ServingRun');

        CREATE TABLE definition_3 (
          id INTEGER PRIMARY KEY,
          source TEXT NOT NULL,
          external_id TEXT,
          name TEXT NOT NULL,
          UNIQUE (source, external_id)
        ) STRICT;
        INSERT INTO definition_3 SELECT id, source, external_id, name FROM definition;
        DROP TABLE definition;
        ALTER TABLE definition_3 RENAME TO definition;
        CREATE INDEX definition_name ON definition (name);

        -- `subject_id` is what is measured: an operation, or the model of serving runs.
        CREATE TABLE definition_version_3 (
          id INTEGER PRIMARY KEY,
          definition_id INTEGER NOT NULL REFERENCES definition,
          import_id INTEGER NOT NULL REFERENCES import,
          subject_id INTEGER NOT NULL REFERENCES manifest,
          facts_digest BLOB NOT NULL,
          facts BLOB NOT NULL
        ) STRICT;
        INSERT INTO definition_version_3
          SELECT id, definition_id, import_id, operation_id, facts_digest, facts FROM definition_version;
        -- Only what is measured over a suite has bounds.
        CREATE TABLE definition_suite (
          version_id INTEGER PRIMARY KEY REFERENCES definition_version,
          suite_id INTEGER NOT NULL REFERENCES manifest,
          bounds_id INTEGER NOT NULL REFERENCES bounds
        ) STRICT;
        INSERT INTO definition_suite SELECT id, suite_id, bounds_id FROM definition_version;
        DROP TABLE definition_version;
        ALTER TABLE definition_version_3 RENAME TO definition_version;
        CREATE INDEX definition_version_latest ON definition_version (definition_id, id);

        -- `key` is a comparison key, or that of a cohort of serving runs. `metric` is metric:statistic:unit, or none.
        -- `cases` counts those of a suite, `shape` has the axes of a single case.
        CREATE TABLE cohort_3 (
          id INTEGER PRIMARY KEY,
          definition_id INTEGER NOT NULL REFERENCES definition,
          key BLOB NOT NULL,
          metric TEXT NOT NULL,
          gpu TEXT NOT NULL,
          stack TEXT,
          subject_id INTEGER NOT NULL REFERENCES manifest,
          workload_id INTEGER NOT NULL REFERENCES manifest,
          cases INTEGER,
          shape TEXT,
          UNIQUE (definition_id, key, metric)
        ) STRICT;
        INSERT INTO cohort_3
          SELECT id, definition_id, comparison_key, 'latency:mean:ns', gpu, stack, operation_id, suite_id, cases, NULL
          FROM cohort;
        CREATE TABLE kernel_cohort (
          cohort_id INTEGER PRIMARY KEY REFERENCES cohort,
          protocol_id INTEGER NOT NULL REFERENCES manifest,
          environment_id INTEGER NOT NULL REFERENCES manifest
        ) STRICT;
        INSERT INTO kernel_cohort SELECT id, protocol_id, environment_id FROM cohort;
        CREATE TABLE serving_cohort (
          cohort_id INTEGER PRIMARY KEY REFERENCES cohort,
          protocol TEXT NOT NULL,
          topology TEXT NOT NULL,
          quality TEXT NOT NULL,
          metrics TEXT NOT NULL
        ) STRICT;
        DROP TABLE cohort;
        ALTER TABLE cohort_3 RENAME TO cohort;

        -- A run of a submission, under the id of its manifest. `value` is in the unit of the cohort's metric.
        CREATE TABLE run (
          manifest_id INTEGER PRIMARY KEY REFERENCES manifest,
          submission_id INTEGER NOT NULL REFERENCES submission,
          cohort_id INTEGER NOT NULL REFERENCES cohort,
          implementation_id INTEGER NOT NULL REFERENCES manifest,
          status TEXT NOT NULL,
          standing TEXT NOT NULL CHECK (standing IN ('current', 'superseded', 'retracted', 'failed')),
          value ANY,
          observed_at TEXT NOT NULL
        ) STRICT;
        -- What SOL-ExecBench alone says of a run.
        CREATE TABLE score (
          run_id INTEGER PRIMARY KEY REFERENCES run,
          sol_score REAL,
          avg_speedup REAL,
          fast_1_count INTEGER,
          fast_1_total INTEGER
        ) STRICT;
        """,
        runs_of_observations,
        """
        CREATE INDEX run_ranking ON run (cohort_id) WHERE standing = 'current';
        CREATE INDEX run_submission ON run (submission_id);

        -- `facts_digest` is that of the source's own record, NULL where only others speak of it. `project_id` is the
        -- manifest that stands for the author.
        CREATE TABLE submission_3 (
          id INTEGER PRIMARY KEY,
          external_id TEXT NOT NULL,
          definition_id INTEGER NOT NULL REFERENCES definition,
          author TEXT,
          project_id INTEGER REFERENCES manifest,
          gpu TEXT,
          stack TEXT,
          facts_digest BLOB,
          standing TEXT NOT NULL CHECK (standing IN ('current', 'retracted', 'ineligible', 'failed')),
          unlisted INTEGER NOT NULL,
          reasons TEXT NOT NULL,
          UNIQUE (external_id, definition_id)
        ) STRICT;
        INSERT INTO submission_3
          SELECT id, external_id, definition_id, author, NULL, gpu, stack, facts_digest, standing, unlisted, reasons
          FROM submission;
        DROP TABLE submission;
        ALTER TABLE submission_3 RENAME TO submission;
        CREATE INDEX submission_author ON submission (definition_id, author);
        """,
        projects_of_authors,
        """
        -- What an observed run measured stands with the run.
        CREATE TABLE observation_3 (
          id INTEGER PRIMARY KEY,
          submission_id INTEGER NOT NULL REFERENCES submission,
          import_id INTEGER NOT NULL REFERENCES import,
          run_id INTEGER REFERENCES run,
          standing TEXT NOT NULL,
          unlisted INTEGER NOT NULL,
          reasons TEXT NOT NULL,
          evidence_id INTEGER REFERENCES evidence,
          place INTEGER
        ) STRICT;
        INSERT INTO observation_3
          SELECT id, submission_id, import_id, run_id, standing, unlisted, reasons, evidence_id, place FROM observation;
        DROP TABLE observation;
        ALTER TABLE observation_3 RENAME TO observation;
        CREATE INDEX observation_submission ON observation (submission_id);
        CREATE INDEX observation_import ON observation (import_id);

        -- Evidence that is about no one definition: rows of an export, by its table.
        CREATE TABLE evidence_3 (
          id INTEGER PRIMARY KEY,
          import_id INTEGER NOT NULL REFERENCES import,
          definition_id INTEGER REFERENCES definition,
          body BLOB NOT NULL
        ) STRICT;
        INSERT INTO evidence_3 SELECT id, import_id, definition_id, body FROM evidence;
        DROP TABLE evidence;
        ALTER TABLE evidence_3 RENAME TO evidence;

        -- What a source says of a row of its own beside the manifest: by the row's table and key (the id of its
        -- manifest, or a name), as it was said last. `digest` has the first bytes of that of the row, to tell whether
        -- it says something new.
        CREATE TABLE claim (
          in_table TEXT NOT NULL,
          key ANY NOT NULL,
          digest BLOB NOT NULL,
          evidence_id INTEGER NOT NULL REFERENCES evidence,
          place INTEGER NOT NULL,
          PRIMARY KEY (in_table, key)
        ) STRICT, WITHOUT ROWID;

        -- `definition_id` is NULL where the definition itself could not be read.
        CREATE TABLE reading_3 (
          import_id INTEGER NOT NULL REFERENCES import,
          definition_external_id TEXT NOT NULL,
          definition_id INTEGER REFERENCES definition,
          expected INTEGER,
          announced INTEGER,
          received INTEGER NOT NULL,
          complete INTEGER NOT NULL,
          problem TEXT,
          counts TEXT NOT NULL,
          PRIMARY KEY (import_id, definition_external_id)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO reading_3
          SELECT r.import_id, r.definition_external_id, d.id, expected, announced, received, complete, problem, counts
          FROM reading r JOIN import i ON i.id = r.import_id
            LEFT JOIN definition d ON d.source = i.source AND d.external_id = r.definition_external_id;
        DROP TABLE reading;
        ALTER TABLE reading_3 RENAME TO reading;
        CREATE INDEX reading_definition ON reading (definition_id, import_id);
        """,
    ),
)
