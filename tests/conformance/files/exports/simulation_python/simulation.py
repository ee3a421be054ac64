from google.adk.tools.environment_simulation.environment_simulation_config import (
    EnvironmentSimulationConfig,
    InjectionConfig,
    ToolSimulationConfig,
)

config = EnvironmentSimulationConfig(
    tool_simulation_configs=[
        ToolSimulationConfig(
            tool_name='find_order',
            injection_configs=[
                InjectionConfig(
                    injection_probability=1.0,
                    match_args={'order_id': 'A-1002'},
                    injected_response={
                        'order_id': 'A-1002',
                        'customer_id': 'CUS-92024',
                        'status': 'processing',
                        'items': [
                            {'sku': 'SKU-32495', 'quantity': 5, 'unit_price': 9.6},
                            {'sku': 'SKU-26524', 'quantity': 5, 'unit_price': 231.54},
                        ],
                        'total': 1205.7,
                        'currency': 'EUR',
                        'placed_on': '2026-10-04',
                        'express': True,
                    },
                ),
                InjectionConfig(
                    injection_probability=1.0,
                    match_args={'order_id': 'A-1001'},
                    injected_response={
                        'order_id': 'A-1001',
                        'customer_id': 'CUS-32374',
                        'status': 'processing',
                        'items': [
                            {'sku': 'SKU-26524', 'quantity': 2, 'unit_price': 231.54},
                            {'sku': 'SKU-32495', 'quantity': 3, 'unit_price': 9.6},
                        ],
                        'total': 491.88,
                        'currency': 'EUR',
                        'placed_on': '2026-12-09',
                        'express': True,
                    },
                ),
            ],
        ),
        ToolSimulationConfig(
            tool_name='cancel_order',
            injection_configs=[
                InjectionConfig(
                    injection_probability=1.0,
                    match_args={'order_id': 'A-1001', 'reason': 'customer_request'},
                    injected_response={'order_id': 'A-1001', 'status': 'cancelled', 'reason': 'customer_request'},
                ),
            ],
        ),
        ToolSimulationConfig(
            tool_name='refund_order',
            injection_configs=[
                InjectionConfig(
                    injection_probability=1.0,
                    match_args={'order_id': 'A-1001', 'amount': 491.88, 'currency': 'EUR'},
                    injected_response={
                        'refund_id': 'REF-26252',
                        'order_id': 'A-1001',
                        'amount': 491.88,
                        'currency': 'EUR',
                        'status': 'sent',
                    },
                ),
            ],
        ),
        ToolSimulationConfig(
            tool_name='list_orders',
            injection_configs=[
                InjectionConfig(
                    injection_probability=1.0,
                    match_args={'email': 'ada@example.com'},
                    injected_response={
                        'customer_id': 'CUS-36800',
                        'orders': [
                            {
                                'order_id': 'ORD-61442',
                                'customer_id': 'CUS-36800',
                                'status': 'processing',
                                'items': [
                                    {'sku': 'SKU-26524', 'quantity': 1, 'unit_price': 231.54},
                                    {'sku': 'SKU-32495', 'quantity': 3, 'unit_price': 9.6},
                                ],
                                'total': 260.34,
                                'currency': 'EUR',
                                'placed_on': '2026-10-19',
                                'express': True,
                            },
                            {
                                'order_id': 'ORD-71418',
                                'customer_id': 'CUS-36800',
                                'status': 'processing',
                                'items': [
                                    {'sku': 'SKU-26524', 'quantity': 4, 'unit_price': 231.54},
                                    {'sku': 'SKU-32495', 'quantity': 1, 'unit_price': 9.6},
                                ],
                                'total': 935.76,
                                'currency': 'EUR',
                                'placed_on': '2026-04-04',
                                'express': True,
                            },
                        ],
                    },
                ),
            ],
        ),
        ToolSimulationConfig(
            tool_name='create_order',
            injection_configs=[
                InjectionConfig(
                    injection_probability=1.0,
                    match_args={
                        'customer_id': 'C-18',
                        'items': [{'sku': 'mug', 'quantity': 2}, {'sku': 'lamp', 'quantity': 1}],
                        'express': True,
                    },
                    injected_response={
                        'order_id': 'ORD-71419',
                        'customer_id': 'C-18',
                        'status': 'processing',
                        'items': [
                            {'sku': 'mug', 'quantity': 2, 'unit_price': 13.9},
                            {'sku': 'lamp', 'quantity': 1, 'unit_price': 24.0},
                        ],
                        'total': 51.8,
                        'currency': 'EUR',
                        'placed_on': '2026-09-04',
                        'express': True,
                    },
                ),
            ],
        ),
    ],
)
